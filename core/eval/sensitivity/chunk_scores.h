// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Scores of a run added up by chunk: small enough to be kept for every run, and enough for means, their errors by chunk,
// and differences of two runs over the same tokens.

#include "core/eval/scores/score_summary.h"

namespace qs::eval {

/// Sums over the scored tokens of one chunk, in the order of the text. KL and nll in nats.
struct ChunkScores {
    std::size_t tokens = 0, notFinite = 0; ///< `tokens`: those with finite logits; the sums are over these
    double divergence = 0, divergenceSquares = 0, largestDivergence = 0;
    double nllChange = 0, nllChangeSquares = 0;
    std::size_t sameTop = 0;
    bool operator==(const ChunkScores&) const = default;
};
using RunScores = std::vector<ChunkScores>; ///< one for each chunk, in the order of the text

/// `scores` in the order of the text.
RunScores byChunk(std::span<const TokenScore> scores);

std::size_t tokensOf(const RunScores& run);
std::size_t notFiniteOf(const RunScores& run);
/// Mean KL; none without a finite token. Errors as in estimate().
std::optional<Estimate> divergenceOf(const RunScores& run);
/// Whether the error by chunk of the mean KL is at most this share of it.
bool isCertain(const RunScores& run, double share);
std::optional<Estimate> nllChangeOf(const RunScores& run);
/// Share of tokens with the same most probable next token.
std::optional<double> sameTopOf(const RunScores& run);
/// Mean over tokens of sum_i factors[i] * KL of runs[i], with the error by chunk. None where a run lacks a token or two
/// runs have other tokens.
std::optional<Estimate> combined(std::span<const RunScores* const> runs, std::span<const double> factors);

} // namespace qs::eval
