// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/eval_changes.h"

#include "app/cli/selection.h"
#include "core/report/report.h"

#include <fmt/format.h>
#include <optional>

namespace qs::cli {

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
