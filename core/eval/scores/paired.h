// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Two networks compared on the same tokens by the difference of their KL, token by token. What both find hard cancels, so
// that the error is far below that of the two means. Chunks, not tokens, are independent.

#include "core/eval/scores/score_summary.h"

namespace qs::eval {

struct PairedDifference {
    std::size_t tokens = 0;   ///< at which the logits of both are finite
    Estimate difference;      ///< KL of the second minus KL of the first, nats a token
    double low = 0, high = 0; ///< 95 % interval of the mean difference: Student's t with chunks - 1 degrees of freedom
    bool hasInterval = false; ///< false below 2 chunks
    bool firstIsBetter() const { return hasInterval && low > 0; }
    bool secondIsBetter() const { return hasInterval && high < 0; }
};
/// Scores of the same tokens, in the same order. Nothing where no token has finite logits in both.
std::optional<PairedDifference> pairedDifference(std::span<const TokenScore> first, std::span<const TokenScore> second);

/// The number t for which a Student variable of `degrees` (>= 1) is within +-t with probability 0.95.
double studentHalfWidth(std::size_t degrees);

struct PairedRow {
    std::string first, second;
    PairedDifference figures;
};
const Columns<PairedRow>& pairedColumns();
/// All pairs of those that have scores, or, where they are more than kMostPairs, each with the first.
constexpr std::size_t kMostPairs = 15;
std::vector<PairedRow> pairedRows(std::span<const std::string> names, std::span<const std::vector<TokenScore>> scores);

} // namespace qs::eval
