// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which of several ways is the fastest here: measured for a few milliseconds, not concluded from instruction sets. A
// processor may have an instruction that is slower than two others.

#include "kernels/matmul.h"

#include <functional>
#include <span>

namespace qs {

struct RaceRules {
    double seconds = 0.003; ///< all runs together; at least `fewest` rounds are run
    std::size_t fewest = 5, most = 41;
    double margin = 0.05;      ///< share of its time by which another must beat the first
    double steadyRatio = 1.25; ///< of median and best time; above it somebody disturbed the race
};
struct Race {
    std::size_t winner = 0;
    std::vector<double> seconds; ///< median of one run of each
    bool steady = true;          ///< worth to be kept
};
/// `once(i)` runs candidate i once and returns its seconds. All take turns, round by round. The first is the expected
/// one: it stays unless another is faster by the margin.
Race race(std::size_t candidates, const std::function<double(std::size_t)>& once, const RaceRules& rules = {});

/// The problem that stands for its like: a small weight of its format, and as many rows of x as its own, in steps.
MatmulProblem smallLike(const MatmulProblem& problem);
/// All that are like it, as text: what smallLike() keeps.
std::string likeness(const MatmulProblem& problem);

/// Candidates on smallLike(problem), on one thread, with made-up operands.
Race raceVariants(std::span<const MatmulVariant* const> candidates, const MatmulProblem& problem);

} // namespace qs
