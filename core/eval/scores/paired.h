// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares two networks on the same tokens by the difference of their KL, token by token. Tokens that are hard for both
// cancel, so the error is far below the errors of the two means. Chunks are treated as independent, tokens are not.

#include "core/eval/scores/score_summary.h"

namespace qs::eval {

struct PairedDifference {
    std::size_t tokens = 0;   ///< tokens with finite logits in both
    Estimate difference;      ///< KL of the second minus KL of the first, nats a token
    double low = 0, high = 0; ///< 95 % interval of the mean difference: Student's t with chunks - 1 degrees of freedom
    bool hasInterval = false; ///< false below 2 chunks
    bool firstIsBetter() const { return hasInterval && low > 0; }
    bool secondIsBetter() const { return hasInterval && high < 0; }
};
/// The scores must be those of the same tokens, in the same order. Nullopt if no token has finite logits in both.
std::optional<PairedDifference> pairedDifference(std::span<const TokenScore> first, std::span<const TokenScore> second);

/// The number t for which a Student variable of `degrees` (>= 1) is within +-t with probability 0.95.
double studentHalfWidth(std::size_t degrees);

struct PairedRow {
    std::string first, second;
    PairedDifference figures;
};
const Columns<PairedRow>& pairedColumns();
/// The table has all pairs of changes with scores. If that is more than kMostPairs pairs, it compares each change with
/// the first one.
constexpr std::size_t kMostPairs = 15;
std::vector<PairedRow> pairedRows(std::span<const std::string> names, std::span<const std::vector<TokenScore>> scores);

} // namespace qs::eval
