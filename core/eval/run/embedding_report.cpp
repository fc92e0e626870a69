// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/cell.h"
#include "core/base/tip.h"
#include "core/eval/run/embeddings.h"
#include "core/eval/run/report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace qs::eval {
namespace {

Columns<EmbeddingRow> makeEmbeddingColumns() {
    using Row = EmbeddingRow;
    using S = EmbeddingSummary;
    using enum Direction;
    Columns<Row> out;
    const auto add = [&](ColumnInfo info, auto of) {
        out.push_back({std::move(info),
                       [of](const Row& row) { return row.summary ? cellOf(std::invoke(of, *row.summary)) : Value(); }});
    };
    const auto cosine = [&](const char* id, const char* title, const char* tip, auto of,
                            Direction better = HigherIsBetter) {
        add(withWholeTip({id, title, "", Show::Significant, 6, better, tip}), of);
    };
    out.push_back(
        columnOf<Row>({"spec", "Spec", "", Show::Code, 2, None, "What the matrices were quantized as."}, &Row::spec));
    const auto size = [&](ColumnInfo info, auto of) {
        out.push_back({std::move(info),
                       [of](const Row& row) { return row.size ? cellOf(std::invoke(of, *row.size)) : Value(); }});
    };
    size({"matrices", "Matrices", "", Show::Integer, 0, None, "Matrices that are quantized."}, &ChangedSize::matrices);
    size({"bytes", "Bytes", "", Show::Bytes, 0, LowerIsBetter, "Stored bytes of these matrices."}, &ChangedSize::bytes);
    size({"bpw", "bpw", "", Show::Fixed, 4, LowerIsBetter, "True stored bits per weight of these matrices."},
         &ChangedSize::bpw);
    size({"bpw_all", "bpw of all", "", Show::Fixed, 4, LowerIsBetter, "Stored bits per weight of the whole model."},
         &ChangedSize::bpwAll);
    cosine("mean_cosine", "Mean cosine", "Mean over chunks of the cosine of the embedding with that of the reference.",
           [](const S& s) { return s.cosine.mean; });
    cosine(
        "mean_cosine_error", "± of mean", "Standard error of the mean over chunks.",
        [](const S& s) { return s.cosine.byChunk; }, None);
    cosine("min_cosine", "Min cosine", "The smallest cosine of a chunk.", &S::least);
    cosine("cosine_1", "p1 cosine", "1 % of all chunks have a smaller cosine.", &S::percentile1);
    cosine("cosine_10", "p10 cosine", "10 % of all chunks have a smaller cosine.", &S::percentile10);
    cosine("median_cosine", "Median cosine", "Half of all chunks have a smaller cosine.", &S::median);
    add({"chunks", "Chunks", "", Show::Integer, 0, None, "Chunks with a finite cosine."}, &S::chunks);
    add({"chunks_not_finite", "Not finite", "", Show::Integer, 0, None,
         "Chunks that a NaN or infinite embedding leaves out of every figure."},
        &S::notFinite);
    out.push_back(columnOf<Row>({"status", "Status", "", Show::Text, 2, None, "ok, or failed with a reason."},
                                [](const Row& row) { return row.summary ? "ok" : "failed"; }));
    out.push_back(columnOf<Row>(
        {"reason", "Reason", "", Show::Text, 2, None, "Why there are no figures, or what to know beside them."},
        &Row::reason));
    return out;
}

} // namespace

std::optional<EmbeddingSummary> summarizeCosines(std::span<const double> cosines) {
    std::vector<double> sorted;
    for (const double value : cosines)
        if (std::isfinite(value)) sorted.push_back(value);
    if (sorted.empty()) return {};
    EmbeddingSummary out;
    out.chunks = sorted.size(), out.notFinite = cosines.size() - sorted.size();
    std::vector<std::size_t> chunks(sorted.size());
    std::iota(chunks.begin(), chunks.end(), std::size_t(0));
    out.cosine = estimate(sorted, chunks);
    std::ranges::sort(sorted);
    out.least = sorted.front(), out.median = percentile(sorted, 0.5);
    out.percentile1 = percentile(sorted, 0.01), out.percentile10 = percentile(sorted, 0.1);
    return out;
}

const Columns<EmbeddingRow>& embeddingColumns() {
    static const Columns<EmbeddingRow> columns = makeEmbeddingColumns();
    return columns;
}

namespace {

/// The spec, with the backend that multiplied.
std::string labelOf(const WeightChange& change, const std::string& servedBy) {
    return servedBy.empty() ? change.name : change.name + " on " + servedBy;
}

} // namespace

std::vector<EmbeddingRow> embeddingRows(const EvaluationPlan& plan, const EmbeddingEvaluation& result) {
    std::vector<EmbeddingRow> rows;
    for (std::size_t i = 0; i < plan.changes.size(); ++i) {
        const std::string& reason = result.reasons[i];
        rows.push_back({labelOf(plan.changes[i], result.servedBy[i]), summarizeCosines(result.cosines[i]),
                        reason.empty() ? plan.changes[i].remark : reason, plan.changes[i].size});
    }
    return rows;
}

Section embeddingSection(const std::vector<EmbeddingRow>& rows, const std::vector<std::vector<double>>& cosines,
                         const std::string& referenceRemark) {
    Section section;
    section.title = "Evidence: the model's embeddings";
    section.brief = true;
    section.note = "Activations are f32: the figures show the effect of the quantized weights alone.";
    if (!referenceRemark.empty()) section.note += " " + referenceRemark;
    section.text = "The embedding of a chunk is the mean of its tokens' last hidden states. Its cosine with the "
                   "reference's is 1 where quantization changes no direction.";
    section.tables.push_back(makeTable("Specs", embeddingColumns(), rows));
    Plot plot;
    plot.kind = Plot::Kind::Lines;
    plot.title = "Cosine of each chunk";
    plot.xTitle = "chunk of the text", plot.yTitle = "cosine with the reference";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        Plot::Series series;
        series.name = rows[i].spec;
        for (std::size_t chunk = 0; chunk < cosines[i].size(); ++chunk)
            if (std::isfinite(cosines[i][chunk]))
                series.x.push_back(double(chunk)), series.y.push_back(cosines[i][chunk]);
        if (!series.x.empty()) plot.series.push_back(std::move(series));
    }
    if (!plot.series.empty()) section.plots.push_back(std::move(plot));
    return section;
}

Result<Report> embeddingReport(const Model& model, const EvaluationPlan& plan, const EmbeddingEvaluation& result,
                               const std::string& commandLine, const Job& job) {
    auto provenance = evaluationProvenance(model, plan, result.chunks, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    provenance->emplace_back("pooling", "mean of all tokens of a chunk");

    Report report;
    report.title = model.title;
    report.subtitle = fmt::format("The embeddings under {} specs, over {} tokens in {} chunks", plan.changes.size(),
                                  result.tokens, result.chunks);
    report.provenance = std::move(*provenance);
    const auto rows = embeddingRows(plan, result);
    report.data = makeTable({}, embeddingColumns(), rows);
    Section section =
        embeddingSection(rows, result.cosines, referenceRemark(result.matrices, result.quantizedMatrices));
    section.title = "Evaluation";
    report.sections.push_back(std::move(section));
    return report;
}

} // namespace qs::eval
