// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/eval_changes.h"

#include "app/cli/selection.h"
#include "core/base/text.h"
#include "core/export/rule_book.h"
#include "core/recipes/resolve.h"
#include "core/report/report.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace qs::cli {

Result<RecipeOfModel> recipeOfModel(const std::string& path, const Model& model) {
    auto read = readRecipeFor(path, model);
    if (!read) return tl::unexpected(read.error());
    for (const TensorRule& rule : read->rules)
        if (const QRegularExpression regex(QString::fromStdString(rule.regex)); !regex.isValid())
            return fail(fmt::format("{}: the rule '{}' is not a regular expression: {} at character {}.",
                                    escapeForPeople(path, 200), escapeForPeople(rule.regex, 80),
                                    regex.errorString().toStdString(), regex.patternErrorOffset()),
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
        if (const QuantSpec* spec = tensor.isWeight() ? out.specOf(tensor) : nullptr)
            if (std::find(out.specs.begin(), out.specs.end(), *spec) == out.specs.end()) out.specs.push_back(*spec);
    if (out.specs.empty())
        return fail(fmt::format("The recipe {} quantizes no matrix of this model.", escapeForPeople(path, 200)), path);
    return out;
}

Result<eval::WeightChange> changeByRecipe(const std::string& path, const Model& model) {
    auto read = recipeOfModel(path, model);
    if (!read) return tl::unexpected(read.error());
    return eval::quantizedBy(read->name, recipeInWords(*read->recipe), std::move(read->specOf));
}

Result<eval::WeightChange> changeByModel(const std::string& path) {
    auto model = openServed(path);
    if (!model) return tl::unexpected(model.error());
    return eval::replacedBy(std::move(*model), nameOfPath(path));
}

Result<void> outcomeOf(const std::vector<eval::WeightChange>& changes, const std::vector<std::string>& reasons,
                       const std::string& path) {
    for (const bool isServed : {false, true}) {
        std::optional<std::size_t> failed;
        bool any = false;
        for (std::size_t i = changes.size(); i-- > 0;) {
            if ((changes[i].server != nullptr) != isServed) continue;
            if (reasons[i].empty())
                any = true;
            else
                failed = i;
        }
        if (failed && !any)
            return fail(fmt::format("Nothing could be {}; the first, {}: {}", isServed ? "served" : "evaluated",
                                    changes[*failed].name, reasons[*failed]),
                        path);
    }
    return {};
}

} // namespace qs::cli
