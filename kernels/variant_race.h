// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the fastest of several variants by measurement in a few milliseconds. The instruction set alone does not tell:
// one instruction may be slower than two others that do the same.

#include "kernels/matmul.h"

#include <functional>
#include <span>

namespace qs {

struct RaceRules {
    double seconds = 0.003; ///< time of all runs together, but at least `fewest` rounds
    /// Limits of the number of rounds.
    std::size_t fewest = 5, most = 41;
    /// Share of its time by which another candidate must beat the first one.
    double margin = 0.05;
    /// Largest ratio of median and best time. Above it, other work on the machine has disturbed the race.
    double steadyRatio = 1.25;
};
struct Race {
    /// Index of the winner.
    std::size_t winner = 0;
    std::vector<double> seconds; ///< median time of one run of each candidate
    bool steady = true;          ///< not disturbed, so the result is worth keeping
};
/// Measures the candidates in turns, round by round. `once(i)` runs candidate i once and returns its time in seconds.
/// The first candidate is the expected winner: it wins unless another one is faster by rules.margin.
Race race(std::size_t candidates, const std::function<double(std::size_t)>& once, const RaceRules& rules = {});

/// A small problem that stands for all problems like this one: the same format, at most 192 x 512, and M rounded to 1,
/// 2, 4, 16 or 48.
MatmulProblem smallLike(const MatmulProblem& problem);
/// A text that is equal for problems with the same smallLike().
std::string likeness(const MatmulProblem& problem);

/// Runs the candidates on smallLike(problem), on one thread, with generated operands.
Race raceVariants(std::span<const MatmulVariant* const> candidates, const MatmulProblem& problem);

} // namespace qs
