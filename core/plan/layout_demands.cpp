// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/layout_demands.h"

#include "core/base/lists.h"

#include <algorithm>

namespace qs::plan {
namespace {

class Together {
public:
    Together(const OptionRequest& request, const StoredSizes& sizes, const PlanUnits& units)
        : model_(*request.model), locks_(request.locks), sizes_(sizes), units_(units) {}

    /// Puts the spec beside those that were added; "": the file can be described, or no unit takes the spec.
    std::string add(const QuantSpec& spec) {
        if (contains(known_, spec)) return {};
        const TensorInfo* tensor = freeTensor(spec);
        if (!tensor) return {};
        taken_.push_back({tensor, std::make_shared<const QuantSpec>(spec)});
        const auto config = sizes_.layout->config(model_, taken_);
        if (config || taken_.size() == 1) {
            known_.push_back(spec);
            return {};
        }
        taken_.pop_back();
        return config.error().message;
    }

private:
    /// Of a unit that has no spec here yet: tensors of one unit must be alike.
    const TensorInfo* freeTensor(const QuantSpec& spec) const {
        const auto at = sizes_.find(spec);
        if (!at) return nullptr;
        for (std::size_t u = 0; u < units_.size(); ++u) {
            if (const auto lock = units_.rule(u); lock && !locks_[*lock].spec) continue; // it stays as it is
            const TensorInfo* tensor = units_.tensors(u).front();
            const bool isUsed = std::ranges::any_of(taken_, [&](const TakenTensor& t) { return t.tensor == tensor; });
            if (!isUsed && sizes_.of(*at, *tensor).reason.empty()) return tensor;
        }
        return nullptr;
    }

    const Model& model_;
    const std::vector<TensorRule>& locks_;
    const StoredSizes& sizes_;
    const PlanUnits& units_;
    std::vector<TakenTensor> taken_;
    std::vector<QuantSpec> known_;
};

} // namespace

std::vector<std::string> refusedTogether(const OptionRequest& request, const StoredSizes& sizes,
                                         const PlanUnits& units) {
    std::vector<std::string> out(request.specs.size());
    if (!sizes.layout->config || units.size() < 2) return out;
    Together together(request, sizes, units);
    for (const TensorRule& lock : request.locks)
        if (lock.spec) together.add(*lock.spec); // the user's own: if they differ, the export says so
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = together.add(request.specs[s]);
    return out;
}

} // namespace qs::plan
