// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What other weights do to the output of an encoder (Network::isEncoder). A chunk of the text has an embedding: the
// mean of its tokens' last hidden states, as sentence embeddings have it. The figure is its cosine with that of the
// reference.

#include "core/eval/run/evaluate.h"
#include "core/report/report.h"

namespace qs::eval {

struct EmbeddingEvaluation {
    std::size_t tokens = 0, chunks = 0;
    std::vector<std::vector<double>> cosines;        ///< [change][chunk]; NaN if an embedding is not finite
    std::vector<std::string> reasons;                ///< for each change: why it has no cosines; "" if it has
    std::vector<std::string> servedBy;               ///< as in Evaluation
    std::size_t matrices = 0, quantizedMatrices = 0; ///< as in Evaluation
};
/// The first `count` tokens as inputs, in chunks of `context` with EvaluationText::frame.
std::vector<std::int32_t> framedInputs(const EvaluationText& text, std::size_t count, std::size_t context);
/// Uses the text, context, chunks, changes, units and `reached` of the plan. Errors: the network is not an encoder, a
/// change is another network, and the errors of evaluate().
Result<EmbeddingEvaluation> evaluateEmbeddings(std::shared_ptr<const Model> model, const EvaluationPlan& plan,
                                               const Job& job);
/// The embeddings of all chunks with the stored weights, [chunks, hidden]. The last chunk may be shorter.
Result<std::vector<float>> embeddingsOf(std::shared_ptr<const Model> model, std::span<const std::int32_t> tokens,
                                        std::size_t context, const Job& job);

struct EmbeddingSummary {
    std::size_t chunks = 0, notFinite = 0; ///< chunks with a finite cosine; chunks without
    Estimate cosine;
    double least = 0, percentile1 = 0, percentile10 = 0, median = 0;
};
/// Nullopt if no cosine is finite.
std::optional<EmbeddingSummary> summarizeCosines(std::span<const double> cosines);

/// The row of a spec in a table, compared with the reference.
struct EmbeddingRow {
    std::string spec;
    std::optional<EmbeddingSummary> summary;
    std::string reason;                   ///< why there are no figures, or WeightChange::remark
    std::optional<ChangedSize> size = {}; ///< what the figures stand for; none: it was not measured
};
const Columns<EmbeddingRow>& embeddingColumns();
std::vector<EmbeddingRow> embeddingRows(const EvaluationPlan& plan, const EmbeddingEvaluation& result);
/// The figures, and the cosine of each chunk, as a part of a report. `cosines`: of every row.
Section embeddingSection(const std::vector<EmbeddingRow>& rows, const std::vector<std::vector<double>>& cosines,
                         const std::string& referenceRemark);
Result<Report> embeddingReport(const Model& model, const EvaluationPlan& plan, const EmbeddingEvaluation& result,
                               const std::string& commandLine, const Job& job);

} // namespace qs::eval
