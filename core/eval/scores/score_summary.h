// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Figures over all scored tokens of a text. Definitions are those of llama.cpp's tools/perplexity where it has them;
// errors are standard errors. `independent` treats tokens as independent, as llama.cpp does, and is too small;
// `byChunk` treats chunks as independent (CR1 form) and is the one to compare with.

#include "core/base/column.h"
#include "core/base/percentile.h"
#include "core/eval/scores/token_score.h"

#include <optional>
#include <string>
#include <vector>

namespace qs::eval {

struct Estimate {
    double mean = 0;
    std::optional<double> independent; ///< sqrt((sum x^2 / n - mean^2) / (n - 1)); none below 11 tokens
    std::optional<double> byChunk;     ///< sqrt(G / (G - 1) sum_g (n_g (m_g - mean))^2) / n; none below 2 chunks
};
/// `values` and `chunks` (of each value, not descending) are equally long and not empty.
Estimate estimate(std::span<const double> values, std::span<const std::size_t> chunks);

/// Percentiles of the change of p(token).
struct ChangeSpread {
    double least = 0, p1 = 0, p5 = 0, median = 0, p95 = 0, p99 = 0, largest = 0;
};

struct ScoreSummary {
    std::size_t tokens = 0, notFinite = 0, chunks = 0; ///< `tokens`: those with finite logits
    Estimate divergence;                               ///< KL, nats a token
    double medianDivergence = 0, divergence90 = 0, divergence95 = 0, divergence99 = 0, divergence999 = 0,
           largestDivergence = 0;
    double referencePerplexity = 0, perplexity = 0; ///< exp(mean nll)
    Estimate nllChange;                             ///< mean nll minus that of the reference: ln of the ratio
    Estimate sameTop;                               ///< share of tokens
    Estimate probabilityChange;
    double probabilityChangeRms = 0;
    std::optional<ChangeSpread> changeSpread; ///< none in figures that were kept without it
};
/// Nothing where no token has finite logits.
std::optional<ScoreSummary> summarize(std::span<const TokenScore> scores);

/// What was compared with the reference: a spec, a recipe, or another network.
enum class RowKind { Spec, Recipe, Against };

constexpr const char* kOwnProducts = "f32"; ///< what a table says of products that no backend computes

struct EvaluationRow {
    std::string spec; ///< as it was given: the spec, the recipe's file or the other model
    std::optional<ScoreSummary> summary;
    std::string reason; ///< why there are no figures
    RowKind kind = RowKind::Spec;
    std::optional<double> floor = {}; ///< mean KL of the reference against itself in another order of sums, nats
    /// What computed the products of its layers: "cpu, int8 activations"; empty: our own f32 kernels.
    std::string servedBy = {};
    std::string label() const {
        return servedBy.empty() ? spec : spec + " on " + servedBy;
    } ///< unlike that of any other row
    /// Whether the mean KL is below twice the floor, so that it says nothing.
    bool belowFloor() const { return floor && summary && summary->divergence.mean < 2 * *floor; }
};
const Columns<EvaluationRow>& evaluationColumns();
/// All columns but those of kinds that no row has.
Table evaluationTable(std::string title, const std::vector<EvaluationRow>& rows);

} // namespace qs::eval
