// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/known_times.h"

#include "core/base/text.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace qs::plan {

KnownTimes::KnownTimes(const OptionRequest& request, const std::vector<QuantSpec>& specs)
    : model_(*request.model), of_(request.latencies.get()) {
    if (!of_ && !request.target) return;
    for (const QuantSpec& spec : specs) canonical_.push_back(canonicalText(spec));
    isMatrix_.resize(model_.tensors.size());
    for (const TensorInfo* product : modelProducts(model_)) isMatrix_[indexOf(*product)] = true;
}

std::optional<std::string> KnownTimes::add(const TensorInfo& tensor, UnitOption& option) const {
    if (!of_ || !isProduct(tensor)) return {};
    const std::string spec = option.spec == kKeep ? storedSpec(tensor) : canonical_[option.spec];
    if (const auto* time = of_->find(tensor, spec)) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        option.ns += std::uint64_t(std::llround(time->ns));
        option.nsRange.low += time->ci ? time->ci->low : none, option.nsRange.high += time->ci ? time->ci->high : none;
        return {};
    }
    option.isTimed = false;
    return fmt::format("no time of {} on {} at M = {} was measured.", shapeText(tensor.shape),
                       escapeForPeople(of_->where.backend, 60), of_->m);
}

void KnownTimes::addFixed(Options& out) const {
    if (!of_) return;
    std::vector<bool> isInUnit(model_.tensors.size());
    for (std::size_t u = 0; u < out.units.size(); ++u)
        for (const TensorInfo* tensor : out.units.tensors(u)) isInUnit[indexOf(*tensor)] = true;
    for (const TensorInfo& tensor : model_.tensors) {
        if (!tensor.isWeight() || isInUnit[indexOf(tensor)]) continue;
        UnitOption kept{kKeep, 0, 0, 0, true};
        out.fixedUntimed += add(tensor, kept).has_value();
        out.fixedNs += kept.ns;
        out.fixedNsRange.low += kept.nsRange.low, out.fixedNsRange.high += kept.nsRange.high;
    }
}

} // namespace qs::plan
