// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/recipe_format.h"

#include "core/base/text.h"
#include "core/model/companion.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {

std::span<const RecipeFormat* const> recipeFormats() {
    // In the order in which a file is recognised: those with words of their own first, texts without any last.
    static const RecipeFormat* const all[] = {&kOwnRecipes,       &kBitsandbytesRecipes,  &kCompressedTensorsRecipes,
                                              &kAutoRoundRecipes, &kHfQuantConfigRecipes, &kModelOptRecipes,
                                              &kQwixRecipes,      &kMaxTextRecipes,       &kThireusRecipes,
                                              &kLlamaRecipes};
    return all;
}

const RecipeFormat* findRecipeFormat(std::string_view id) {
    const auto all = recipeFormats();
    const auto found = std::ranges::find_if(all, [&](const RecipeFormat* row) { return row->id == id; });
    return found == all.end() ? nullptr : *found;
}

const char* matchingText(Matching matching) {
    switch (matching) {
    case Matching::Search: return "regex, anywhere";
    case Matching::Full: return "regex, whole name";
    case Matching::Prefix: return "regex, from the begin";
    case Matching::Glob: return "wildcards, whole name";
    case Matching::Exact: return "the name";
    case Matching::Within: return "begin or end of the name";
    case Matching::Linear: return "linear layers";
    }
    return "";
}

Result<ForeignRecipe> parseForeignRecipe(std::string text, const std::string& path) {
    const auto source = recipeSource(std::move(text), path);
    if (!source) return tl::unexpected(source.error());
    for (const RecipeFormat* row : recipeFormats()) {
        if (!row->recognises(*source)) continue;
        auto recipe = row->read(*source);
        if (!recipe) return recipe;
        if (recipe->rules.size() > kMostRules)
            return source->wrong(fmt::format("it has more than {} rules", kMostRules));
        recipe->format = row;
        return recipe;
    }
    if (!source->problem.empty()) return source->wrong(source->problem); // no words of a recipe of text either
    std::string known;
    for (const RecipeFormat* row : recipeFormats()) known += (known.empty() ? "" : ", ") + std::string(row->id);
    return fail(fmt::format("{} is not a recipe: it has the form of none of {}.", shownPath(path), known), path);
}

Result<ForeignRecipe> readForeignRecipe(const std::string& path) {
    auto text = readCompanion(path, kMostRecipe);
    if (!text) return tl::unexpected(text.error());
    return parseForeignRecipe(std::move(*text), path);
}

} // namespace qs
