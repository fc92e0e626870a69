// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/chunk_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qs::eval {
namespace {

/// Standard error of sum(sums) / n when chunks are independent: the CR1 form of estimate().
std::optional<double> errorByChunk(std::span<const double> sums, const RunScores& run, double mean) {
    double total = 0, tokens = 0;
    std::size_t groups = 0;
    for (std::size_t i = 0; i < run.size(); ++i) {
        if (run[i].tokens == 0) continue;
        const double deviation = sums[i] - double(run[i].tokens) * mean;
        total += deviation * deviation, tokens += double(run[i].tokens), ++groups;
    }
    if (groups < 2) return {};
    return std::sqrt(total * double(groups) / double(groups - 1)) / tokens;
}

std::optional<Estimate> estimateOf(const RunScores& run, double ChunkScores::*sum, double ChunkScores::*squares) {
    const auto n = double(tokensOf(run));
    if (n == 0) return {};
    std::vector<double> sums;
    double all = 0, square = 0;
    for (const ChunkScores& chunk : run) sums.push_back(chunk.*sum), all += chunk.*sum, square += chunk.*squares;
    Estimate out;
    out.mean = all / n;
    if (n > 10) out.independent = std::sqrt(std::max(0.0, square / n - out.mean * out.mean) / (n - 1));
    out.byChunk = errorByChunk(sums, run, out.mean);
    return out;
}

} // namespace

RunScores byChunk(std::span<const TokenScore> scores) {
    RunScores out;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const TokenScore& score = scores[i];
        if (i == 0 || score.chunk != scores[i - 1].chunk) out.emplace_back();
        ChunkScores& chunk = out.back();
        if (!score.finite) {
            ++chunk.notFinite;
            continue;
        }
        const double change = score.nll - score.referenceNll;
        ++chunk.tokens;
        chunk.divergence += score.divergence, chunk.divergenceSquares += score.divergence * score.divergence;
        chunk.largestDivergence = std::max(chunk.largestDivergence, score.divergence);
        chunk.nllChange += change, chunk.nllChangeSquares += change * change;
        chunk.sameTop += score.sameTop ? 1 : 0;
    }
    return out;
}

std::size_t tokensOf(const RunScores& run) {
    return std::accumulate(run.begin(), run.end(), std::size_t(0), [](auto n, const auto& c) { return n + c.tokens; });
}

std::size_t notFiniteOf(const RunScores& run) {
    return std::accumulate(run.begin(), run.end(), std::size_t(0),
                           [](auto n, const auto& c) { return n + c.notFinite; });
}

std::optional<Estimate> divergenceOf(const RunScores& run) {
    return estimateOf(run, &ChunkScores::divergence, &ChunkScores::divergenceSquares);
}

bool isCertain(const RunScores& run, double share) {
    const auto mean = divergenceOf(run);
    return mean && mean->byChunk && *mean->byChunk <= share * mean->mean;
}

std::optional<Estimate> nllChangeOf(const RunScores& run) {
    return estimateOf(run, &ChunkScores::nllChange, &ChunkScores::nllChangeSquares);
}

std::optional<double> sameTopOf(const RunScores& run) {
    double same = 0;
    for (const ChunkScores& chunk : run) same += double(chunk.sameTop);
    const std::size_t tokens = tokensOf(run);
    return tokens > 0 ? std::optional(same / double(tokens)) : std::nullopt;
}

std::optional<Estimate> combined(std::span<const RunScores* const> runs, std::span<const double> factors) {
    const RunScores& first = *runs.front();
    std::vector<double> sums(first.size());
    for (std::size_t r = 0; r < runs.size(); ++r) {
        if (runs[r]->size() != first.size()) return {};
        for (std::size_t i = 0; i < first.size(); ++i) {
            const ChunkScores& chunk = (*runs[r])[i];
            if (chunk.notFinite > 0 || chunk.tokens != first[i].tokens) return {};
            sums[i] += factors[r] * chunk.divergence;
        }
    }
    const std::size_t tokens = tokensOf(first);
    if (tokens == 0) return {};
    Estimate out;
    out.mean = std::accumulate(sums.begin(), sums.end(), 0.0) / double(tokens);
    out.byChunk = errorByChunk(sums, first, out.mean);
    return out;
}

} // namespace qs::eval
