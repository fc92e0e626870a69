// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/variant_choice.h"

#include <algorithm>
#include <utility>

namespace qs {

VariantChoices::VariantChoices(VariantKeeper keeper, Measure measure)
    : m_keeper(std::move(keeper)), m_measure(std::move(measure)) {}

const MatmulVariant& VariantChoices::fastest(std::span<const MatmulVariant* const> candidates,
                                             const MatmulProblem& problem) {
    if (candidates.size() == 1) return *candidates.front();
    const std::lock_guard lock(m_lock);
    if (!std::exchange(m_loaded, true) && m_keeper.load) m_known = m_kept = m_keeper.load();
    // The key includes the candidates: other candidates for a similar problem need their own race.
    std::string key = likeness(problem) + " of";
    for (const MatmulVariant* each : candidates) key += std::string(" ") + each->id;
    if (const auto known = m_known.find(key); known != m_known.end())
        for (const MatmulVariant* each : candidates)
            if (known->second == each->id) return *each;
    const Race measured = m_measure(candidates, problem);
    const MatmulVariant& winner = *candidates[std::min(measured.winner, candidates.size() - 1)];
    m_known[key] = winner.id;
    if (measured.steady && m_keeper.store) {
        m_kept[key] = winner.id;
        m_keeper.store(m_kept);
    }
    return winner;
}

} // namespace qs
