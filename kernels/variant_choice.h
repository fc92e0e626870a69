// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The fastest variant for a kind of problem. The first request measures the candidates; the answer is remembered.

#include "kernels/variant_race.h"

#include <map>
#include <mutex>

namespace qs {

/// Storage that outlives the process: maps likeness() of a problem to the id of its fastest variant, for one processor.
/// Both functions may be empty.
struct VariantKeeper {
    using Choices = std::map<std::string, std::string>;
    std::function<Choices()> load;
    std::function<void(const Choices&)> store; ///< called after each new choice, with all choices worth keeping
};

/// Threads may call fastest() at the same time. Only one race runs at a time.
class VariantChoices {
public:
    using Measure = std::function<Race(std::span<const MatmulVariant* const>, const MatmulProblem&)>;
    explicit VariantChoices(VariantKeeper keeper = {}, Measure measure = raceVariants);

    /// The fastest of `candidates` for problems like this one. `candidates` is not empty. It holds the variants whose
    /// arithmetic the caller accepts, with the expected fastest first. A single candidate is returned without a
    /// measurement.
    const MatmulVariant& fastest(std::span<const MatmulVariant* const> candidates, const MatmulProblem& problem);

private:
    std::mutex lock_;
    VariantKeeper keeper_;
    Measure measure_;
    bool loaded_ = false;
    VariantKeeper::Choices known_, kept_; ///< all choices of this process, and those worth keeping
};

} // namespace qs
