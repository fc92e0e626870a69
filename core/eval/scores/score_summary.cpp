// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/score_summary.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {

Estimate estimate(std::span<const double> values, std::span<const std::size_t> chunks) {
    Estimate out;
    const auto n = double(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value, squares += value * value;
    out.mean = sum / n;
    if (values.size() > 10) out.independent = std::sqrt(std::max(0.0, squares / n - out.mean * out.mean) / (n - 1));
    double total = 0;
    std::size_t groups = 0;
    for (std::size_t begin = 0; begin < values.size();) {
        std::size_t end = begin;
        double deviation = 0; // n_g (m_g - mean)
        for (; end < values.size() && chunks[end] == chunks[begin]; ++end) deviation += values[end] - out.mean;
        total += deviation * deviation, ++groups, begin = end;
    }
    if (groups > 1) out.byChunk = std::sqrt(total * double(groups) / double(groups - 1)) / n;
    return out;
}

std::optional<ScoreSummary> summarize(std::span<const TokenScore> scores) {
    ScoreSummary out;
    std::vector<double> divergence, nllChange, same, change, reference, nll;
    std::vector<std::size_t> chunks;
    double squares = 0;
    for (const TokenScore& score : scores) {
        if (!score.finite) {
            ++out.notFinite;
            continue;
        }
        chunks.push_back(score.chunk);
        divergence.push_back(score.divergence);
        reference.push_back(score.referenceNll), nll.push_back(score.nll);
        nllChange.push_back(score.nll - score.referenceNll);
        same.push_back(score.sameTop ? 1.0 : 0.0);
        change.push_back(score.probabilityChange), squares += score.probabilityChange * score.probabilityChange;
    }
    if (chunks.empty()) return {};
    out.tokens = chunks.size();
    out.chunks = 1;
    for (std::size_t i = 1; i < chunks.size(); ++i) out.chunks += chunks[i] != chunks[i - 1];
    out.divergence = estimate(divergence, chunks);
    out.nllChange = estimate(nllChange, chunks);
    out.sameTop = estimate(same, chunks);
    out.probabilityChange = estimate(change, chunks);
    out.probabilityChangeRms = std::sqrt(squares / double(out.tokens));
    out.referencePerplexity = std::exp(estimate(reference, chunks).mean);
    out.perplexity = std::exp(estimate(nll, chunks).mean);
    std::ranges::sort(divergence);
    out.medianDivergence = percentile(divergence, 0.5);
    out.divergence90 = percentile(divergence, 0.9), out.divergence95 = percentile(divergence, 0.95);
    out.divergence99 = percentile(divergence, 0.99), out.divergence999 = percentile(divergence, 0.999);
    out.largestDivergence = divergence.back();
    std::ranges::sort(change);
    out.changeSpread = {change.front(),
                        percentile(change, 0.01),
                        percentile(change, 0.05),
                        percentile(change, 0.5),
                        percentile(change, 0.95),
                        percentile(change, 0.99),
                        change.back()};
    return out;
}

} // namespace qs::eval
