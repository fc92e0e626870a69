// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/recipe_of_model.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/export/rule_book.h"
#include "core/layouts/taken_tensors.h"
#include "core/recipes/resolve.h"
#include "core/report/report.h"

#include <fmt/format.h>

namespace qs {

Result<RecipeOfModel> recipeOfModel(const std::string& path, const Model& model) {
    auto read = readRecipeFor(path, model);
    if (!read) return tl::unexpected(read.error());
    RecipeOfModel out;
    out.name = nameOfPath(path), out.recipe = std::make_shared<const Recipe>(std::move(*read));
    QuantizeRequest request;
    out.recipe->applyTo(request);
    auto asked = askedSpecs(model, request, nullptr);
    if (!asked) return failAt(shownPath(path), asked.error());
    out.specOf = std::move(asked->of), out.specs = std::move(asked->all);
    if (out.specs.empty())
        return fail(fmt::format("The recipe {} quantizes no matrix of this model.", shownPath(path)), path);
    return out;
}

Result<std::vector<RecipeOfModel>> recipesOfModel(const std::vector<std::string>& paths, const Model& model) {
    const auto names = namesOfPaths(paths);
    std::vector<RecipeOfModel> out;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        auto one = recipeOfModel(paths[i], model);
        if (!one) return tl::unexpected(one.error());
        one->name = names[i];
        out.push_back(std::move(*one));
    }
    return out;
}

std::vector<TensorRule> keptBy(const RecipeOfModel& recipe, std::span<const TensorInfo* const> tensors) {
    std::vector<TensorRule> out;
    for (const TensorInfo* tensor : tensors)
        if (!recipe.specOf(*tensor)) out.push_back({regexOfName(tensor->name), std::nullopt});
    return out;
}

} // namespace qs
