// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Figures over all scored tokens of a text. The definitions are those of llama.cpp's tools/perplexity if it has the
// figure. Errors are standard errors. `independent` treats tokens as independent, like llama.cpp, and is too small.
// `byChunk` treats chunks as independent (CR1 form); use this one to compare.

#include "core/base/column.h"
#include "core/base/percentile.h"
#include "core/eval/network/changed_size.h"
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
    std::size_t tokens = 0, notFinite = 0, chunks = 0; ///< `tokens` counts those with finite logits
    Estimate divergence;                               ///< KL, nats a token
    double medianDivergence = 0, divergence90 = 0, divergence95 = 0, divergence99 = 0, divergence999 = 0,
           largestDivergence = 0;
    double referencePerplexity = 0, perplexity = 0; ///< exp(mean nll)
    Estimate nllChange;                             ///< mean nll minus that of the reference: ln of the ratio
    Estimate sameTop;                               ///< share of tokens
    Estimate probabilityChange;
    double probabilityChangeRms = 0;
    std::optional<ChangeSpread> changeSpread; ///< empty in figures that were stored without it
};
/// Nullopt if no token has finite logits.
std::optional<ScoreSummary> summarize(std::span<const TokenScore> scores);

/// What was compared with the reference: a spec, a recipe, or another network.
enum class RowKind { Spec, Recipe, Against };

constexpr const char* kOwnProducts = "f32"; ///< text in a table for products of our own kernels

struct EvaluationRow {
    std::string spec; ///< what the user gave: the spec, the recipe's file or the other model
    std::optional<ScoreSummary> summary;
    std::string reason; ///< why there are no figures, or WeightChange::remark
    RowKind kind = RowKind::Spec;
    std::optional<double> floor = {}; ///< mean KL of the reference against itself in another order of sums, nats
    /// The backend that computed the products of its layers: "cpu, int8 activations"; "" for our own f32 kernels.
    std::string servedBy = {};
    std::optional<ChangedSize> size = {}; ///< what the figures stand for; none: it was not measured
    std::string label() const {
        return servedBy.empty() ? spec : spec + " on " + servedBy;
    } ///< unlike that of any other row
    /// True if the mean KL is below twice the floor. It then says nothing.
    bool belowFloor() const { return floor && summary && summary->divergence.mean < 2 * *floor; }
};
const Columns<EvaluationRow>& evaluationColumns();
/// A table of the rows. Columns that no row needs are left out.
Table evaluationTable(std::string title, const std::vector<EvaluationRow>& rows);

} // namespace qs::eval
