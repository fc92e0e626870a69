// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/eval_changes.h"

#include "app/cli/interrupt.h"
#include "app/cli/selection.h"
#include "core/layouts/serve.h"
#include "core/report/report.h"

#include <fmt/format.h>
#include <optional>

namespace qs::cli {

Result<std::vector<eval::WeightChange>> changesByRecipes(const std::vector<std::string>& paths, const Model& model,
                                                         const std::vector<std::string>& filters,
                                                         const eval::SpecScope& scope) {
    const auto all = recipesOfModel(paths, model);
    if (!all) return tl::unexpected(all.error());
    std::vector<eval::WeightChange> out;
    for (const RecipeOfModel& one : *all) {
        QuantizeRequest request;
        one.recipe->applyTo(request);
        request.choice = TensorChoice(filters);
        auto change = eval::quantizedAsAsked(model, one.name, recipeInWords(*one.recipe), request, scope);
        if (!change) return tl::unexpected(change.error());
        out.push_back(std::move(*change));
    }
    return out;
}

Result<std::vector<eval::WeightChange>> changesByModels(const std::vector<std::string>& paths) {
    const auto names = namesOfPaths(paths);
    std::vector<eval::WeightChange> out;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto stored = open(paths[i]);
        if (!stored) return tl::unexpected(stored.error());
        auto model = servedModel(*stored, processJob());
        if (!model) return tl::unexpected(model.error());
        const auto size = eval::storedSizeOf(**stored, **model);
        out.push_back(eval::replacedBy(std::move(*model), names[i]));
        out.back().size = size;
    }
    return out;
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
