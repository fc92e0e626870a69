// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/variant_choice.h"

#include <algorithm>
#include <utility>

namespace qs {

VariantChoices::VariantChoices(VariantKeeper keeper, Measure measure)
    : keeper_(std::move(keeper)), measure_(std::move(measure)) {}

const MatmulVariant& VariantChoices::fastest(std::span<const MatmulVariant* const> candidates,
                                             const MatmulProblem& problem) {
    if (candidates.size() == 1) return *candidates.front();
    const std::lock_guard lock(lock_);
    if (!std::exchange(loaded_, true) && keeper_.load) known_ = kept_ = keeper_.load();
    // The key includes the candidates: other candidates for a similar problem need their own race.
    std::string key = likeness(problem) + " of";
    for (const MatmulVariant* each : candidates) key += std::string(" ") + each->id;
    if (const auto known = known_.find(key); known != known_.end())
        for (const MatmulVariant* each : candidates)
            if (known->second == each->id) return *each;
    const Race measured = measure_(candidates, problem);
    const MatmulVariant& winner = *candidates[std::min(measured.winner, candidates.size() - 1)];
    known_[key] = winner.id;
    if (measured.steady && keeper_.store) {
        kept_[key] = winner.id;
        keeper_.store(kept_);
    }
    return winner;
}

} // namespace qs
