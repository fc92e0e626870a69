// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/layout_demands.h"

#include "core/base/lists.h"
#include "core/layouts/taken_tensors.h"

#include <algorithm>

namespace qs::plan {
namespace {

class Files {
public:
    Files(const OptionRequest& request, const StoredSizes& sizes, const PlanUnits& units)
        : request_(request), sizes_(sizes), units_(units) {}

    /// Puts the spec beside those that were added; "": there is such a file, or no unit takes the spec.
    std::string add(const QuantSpec& spec) {
        if (contains(known_, spec)) return {};
        for (const auto& beside : {std::vector<QuantSpec>(), known_}) {
            auto taken = takenOf(spec, beside);
            if (taken.empty()) return {};
            const auto each = [](const Model&) { return Result<void>(); }; // sizes know what single tensors refuse
            const auto file = takenTogether(*request_.model, taken, *sizes_.layout, each);
            if (!file) return file.error().message;
        }
        known_.push_back(spec);
        return {};
    }

private:
    /// What a file takes in which a unit has each of the other specs, and all the rest of those to plan this one. None: no
    /// unit takes it.
    std::vector<TakenTensor> takenOf(const QuantSpec& spec, std::vector<QuantSpec> others) const {
        std::vector<TakenTensor> out;
        bool any = false;
        for (std::size_t u = 0; u < units_.size(); ++u) {
            const auto lock = units_.rule(u);
            std::optional<QuantSpec> own = lock ? request_.locks[*lock].spec : spec;
            const auto other =
                std::ranges::find_if(others, [&](const QuantSpec& one) { return !lock && takes(u, one); });
            if (other != others.end()) {
                own = *other;
                others.erase(other);
            }
            if (!own || !takes(u, *own)) continue;
            any |= *own == spec;
            for (const TensorInfo* tensor : units_.tensors(u)) addTaken(out, *tensor, *own, *sizes_.layout);
        }
        if (!any) out.clear();
        return out;
    }
    bool takes(std::size_t unit, const QuantSpec& spec) const {
        const auto at = sizes_.find(spec);
        return at && std::ranges::all_of(units_.tensors(unit), [&](const TensorInfo* tensor) {
                   return sizes_.of(*at, *tensor).reason.empty();
               });
    }

    const OptionRequest& request_;
    const StoredSizes& sizes_;
    const PlanUnits& units_;
    std::vector<QuantSpec> known_;
};

} // namespace

std::vector<std::string> refusedTogether(const OptionRequest& request, const StoredSizes& sizes,
                                         const PlanUnits& units) {
    std::vector<std::string> out(request.specs.size());
    if (!sizes.layout->config) return out;
    Files files(request, sizes, units);
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = files.add(request.specs[s]);
    return out;
}

} // namespace qs::plan
