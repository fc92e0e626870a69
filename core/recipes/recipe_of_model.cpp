// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/recipe_of_model.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/export/rule_book.h"
#include "core/recipes/resolve.h"
#include "core/report/report.h"

#include <QRegularExpression>
#include <fmt/format.h>
#include <optional>

namespace qs {

Result<RecipeOfModel> recipeOfModel(const std::string& path, const Model& model) {
    auto read = readRecipeFor(path, model);
    if (!read) return tl::unexpected(read.error());
    for (const TensorRule& rule : read->rules)
        if (const QRegularExpression regex(wideText(rule.regex)); !regex.isValid())
            return fail(fmt::format("{}: the rule '{}' is not a regular expression: {} at character {}.",
                                    shownPath(path), escapeForPeople(rule.regex, 80), regex.errorString().toStdString(),
                                    regex.patternErrorOffset()),
                        path);
    RecipeOfModel out;
    out.name = nameOfPath(path), out.recipe = std::make_shared<const Recipe>(std::move(*read));
    const auto book = RuleBook::of(out.recipe->rules);
    if (!book) return tl::unexpected(book.error());
    out.specOf = [recipe = out.recipe, book = *book](const TensorInfo& tensor) -> const QuantSpec* {
        const TensorRule* rule = book.first(tensor.name);
        const std::optional<QuantSpec>& spec = rule ? rule->spec : recipe->rest;
        return spec ? &*spec : nullptr;
    };
    for (const TensorInfo& tensor : model.tensors)
        if (const QuantSpec* spec = tensor.isWeight() ? out.specOf(tensor) : nullptr) addOnce(out.specs, *spec);
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
