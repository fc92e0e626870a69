// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The fastest variant for a kind of problem: a race when it is asked for first, remembered from then on.

#include "kernels/variant_race.h"

#include <map>
#include <mutex>

namespace qs {

/// Of what is kept from run to run, for one processor: id of the variant by likeness(). Both may be empty.
struct VariantKeeper {
    using Choices = std::map<std::string, std::string>;
    std::function<Choices()> load;
    std::function<void(const Choices&)> store; ///< all that are worth to be kept, after each new one
};

/// Several threads may ask; one race is run at a time.
class VariantChoices {
public:
    using Measure = std::function<Race(std::span<const MatmulVariant* const>, const MatmulProblem&)>;
    explicit VariantChoices(VariantKeeper keeper = {}, Measure measure = raceVariants);

    /// One of `candidates`, of which there is at least one: variants that the caller may use for this problem, because
    /// their arithmetic is allowed to it, the expected fastest first. A single one is not measured.
    const MatmulVariant& fastest(std::span<const MatmulVariant* const> candidates, const MatmulProblem& problem);

private:
    std::mutex m_lock;
    VariantKeeper m_keeper;
    Measure m_measure;
    bool m_loaded = false;
    VariantKeeper::Choices m_known, m_kept; ///< of this process, and what of them is worth to be kept
};

} // namespace qs
