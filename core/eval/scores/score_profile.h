// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A profile shows how the KL changes along a text: its running mean, its distribution, its mean at each position of a
// chunk, and the tokens with the largest KL. It is small for any length of text. Tokens whose logits are not finite are
// left out.

#include "core/eval/scores/chunked_mean.h"

#include <array>

namespace qs::eval {

/// The mean KL of the first `tokens` scored tokens, nats.
struct RunningPoint {
    std::size_t tokens = 0;
    Estimate divergence;
};

/// The mean KL at positions `begin` to `end` - 1 of all chunks, nats.
struct PositionRange {
    std::size_t begin = 0, end = 0, tokens = 0;
    Estimate divergence;
};

/// Bins of the distribution of KL. Bin i begins at 10^(kFirstPower + i / kBinsPerPower) nats and ends where i + 1
/// begins.
constexpr int kFirstPower = -8, kBinsPerPower = 8, kBins = 10 * kBinsPerPower;
constexpr std::size_t kRunningPoints = 400, kPositionRanges = 64, kWorstTokens = 100;

struct ScoreProfile {
    std::vector<RunningPoint> running;          ///< tokens ascend; at most kRunningPoints
    std::array<std::uint64_t, kBins> bins = {}; ///< tokens in each
    std::uint64_t below = 0, above = 0;         ///< tokens outside of the bins
    std::vector<PositionRange> positions;       ///< ranges that have tokens, ascending
    std::vector<TokenScore> worst;              ///< largest KL first, of equal ones the earlier; at most kWorstTokens
    std::uint64_t tokens() const;
};

/// Makes a profile while scores come, in the order of the text.
class ProfileGatherer {
public:
    explicit ProfileGatherer(std::size_t context); ///< tokens of a chunk, at least 1
    void add(std::span<const TokenScore> scores);
    ScoreProfile profile() const;

private:
    void addRunning();
    void addWorst(const TokenScore& score);
    std::size_t context_, step_ = 1; ///< tokens between two points of the running mean
    ChunkedMean mean_;
    std::vector<ChunkedMean> positions_;
    ScoreProfile profile_; ///< without `positions`; here `worst` is a heap with the smallest KL on top
};

} // namespace qs::eval
