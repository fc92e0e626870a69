// SPDX-License-Identifier: GPL-3.0-or-later
// The recipes of this program: see core/export/recipe.h.
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_format.h"
#include "core/recipes/recipe_specs.h"

namespace qs {
namespace {

/// No other recipe has a number as its version.
bool isOwnRecipe(const RecipeSource& source) { return entryOf(source.tree, "version").is_number(); }

Result<ForeignRecipe> readOwnRecipe(const RecipeSource& source) {
    auto own = parseRecipe(source.text, source.path);
    if (!own) return tl::unexpected(own.error());
    ForeignRecipe out;
    for (TensorRule& rule : own->rules)
        out.rules.push_back({std::move(rule.regex), Matching::Search, std::move(rule.spec)});
    out.rest = std::move(own->rest), out.restText = "default";
    return out;
}

Result<WrittenRecipe> writeOwnRecipe(const Assignment& assignment) {
    Recipe recipe;
    for (const LayerRule& rule : layerRules(assignment)) {
        if (!rule.spec()) continue; // what no rule names stays as it is
        recipe.rules.push_back({rule.regex("\\d+"), rule.spec()});
    }
    return WrittenRecipe{recipeText(recipe)};
}

} // namespace

const RecipeFormat kOwnRecipes = {
    .id = "quantscope",
    .title = "QuantScope",
    .summary = "A default and rules with specs of this program, as JSON: quantize, export, eval and plan.",
    .matching = "regular expressions, searched in names of tensors; the first rule that matches wins",
    .names = NameSpace::Tensor,
    .wins = Wins::First,
    .ending = ".json",
    .recognises = isOwnRecipe,
    .read = readOwnRecipe,
    .write = writeOwnRecipe,
};

} // namespace qs
