// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/eval_changes.h"

#include "app/cli/selection.h"
#include "core/base/text.h"
#include "core/recipes/resolve.h"
#include "core/report/report.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace qs::cli {

Result<eval::WeightChange> changeByRecipe(const std::string& path, const Model& model) {
    auto read = readRecipeFor(path, model);
    if (!read) return tl::unexpected(read.error());
    for (const TensorRule& rule : read->rules)
        if (const QRegularExpression regex(QString::fromStdString(rule.regex)); !regex.isValid())
            return fail(fmt::format("{}: the rule '{}' is not a regular expression: {} at character {}.",
                                    escapeForPeople(path, 200), escapeForPeople(rule.regex, 80),
                                    regex.errorString().toStdString(), regex.patternErrorOffset()),
                        path);
    const auto recipe = std::make_shared<const Recipe>(std::move(*read));
    const auto specOf = [recipe](const TensorInfo& tensor) -> const QuantSpec* {
        const TensorRule* rule = firstRule(recipe->rules, tensor.name);
        const std::optional<QuantSpec>& spec = rule ? rule->spec : recipe->rest;
        return spec ? &*spec : nullptr;
    };
    const bool changesAny = std::any_of(model.tensors.begin(), model.tensors.end(), [&](const TensorInfo& tensor) {
        return tensor.isWeight() && specOf(tensor) != nullptr;
    });
    if (!changesAny)
        return fail(fmt::format("The recipe {} quantizes no matrix of this model.", escapeForPeople(path, 200)), path);
    return eval::quantizedBy(nameOfPath(path), recipeInWords(*recipe), specOf);
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
