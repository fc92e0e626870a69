// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Plans made by chance, and whether a plan is better than they are.

#include "core/eval/scores/token_score.h"
#include "core/plan/mixture.h"

namespace qs::plan {

/// Time is a part of the budget: draws may take no more than this, in nanoseconds. None: any time.
using MostTime = std::optional<std::uint64_t>;

/// The plan's own specs shuffled among units with the same options, so that bytes, and under a budget of time the times,
/// are equal to the last one: it differs in the placement alone. Equal seeds give equal mixtures.
Mixture permutedMixture(const Mixture& plan, const Options& options, std::uint64_t seed, MostTime mostNs = {});
/// Random specs. They are changed at random until the bytes are within kByteTolerance of the plan's and the time is within
/// `mostNs`, and then some more within both. Where that does not come from random specs, the walk begins at the plan.
/// None where no such mixture was found.
std::optional<Mixture> randomMixture(const Mixture& plan, const Options& options, std::uint64_t seed,
                                     MostTime mostNs = {});
constexpr double kByteTolerance = 0.001; ///< relative

/// A plan beside draws of one kind, all by mean KL on the same tokens.
struct Chance {
    std::size_t draws = 0, notWorse = 0;       ///< `notWorse`: draws with no more KL than the plan
    double rank = 1;                           ///< p = (1 + draws with no more KL than the plan) / (draws + 1)
    double least = 0, median = 0, largest = 0; ///< mean KL of the draws, nats a token
    double effect = 0;                         ///< ln(KL of the plan / median); below 0: the plan is better
    double low = 0, high = 0; ///< 95 % interval of the effect: percentiles over kResamples samples of the chunks
    /// Whether the interval holds 0.
    bool isInside() const { return low <= 0 && high >= 0; }
};
/// Scores of the same tokens in the same order. None without draws, or where no token is finite in all of them.
std::optional<Chance> againstChance(std::span<const eval::TokenScore> plan,
                                    std::span<const std::vector<eval::TokenScore>> draws);

} // namespace qs::plan
