// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis_report.h"
#include "core/eval/run/embeddings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace qs::eval {
namespace {

Column<EmbeddingRow> cosineColumn(const char* id, const char* title, const char* tip, Direction better,
                                  std::optional<double> (*of)(const EmbeddingSummary&)) {
    Column<EmbeddingRow> column;
    column.id = id, column.title = title, column.tip = tip, column.better = better;
    column.show = Show::Significant, column.decimals = 6;
    column.value = [of](const EmbeddingRow& row) -> Value {
        const auto value = row.summary ? of(*row.summary) : std::nullopt;
        return value ? Value(*value) : Value(std::monostate{});
    };
    return column;
}

Column<EmbeddingRow> countColumn(const char* id, const char* title, const char* tip,
                                 std::size_t (*of)(const EmbeddingSummary&)) {
    Column<EmbeddingRow> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Integer, column.decimals = 0;
    column.value = [of](const EmbeddingRow& row) -> Value {
        return row.summary ? Value(std::int64_t(of(*row.summary))) : Value(std::monostate{});
    };
    return column;
}

Columns<EmbeddingRow> makeEmbeddingColumns() {
    using S = EmbeddingSummary;
    using Figure = std::optional<double>;
    Columns<EmbeddingRow> out(1);
    out[0].id = "spec", out[0].title = "Spec", out[0].show = Show::Code;
    out[0].tip = "What the matrices of all layers were quantized as.";
    out[0].value = [](const EmbeddingRow& row) -> Value { return row.spec; };
    const auto add = [&](const char* id, const char* title, const char* tip, Figure (*of)(const S&)) {
        out.push_back(cosineColumn(id, title, tip, Direction::HigherIsBetter, of));
    };
    add("mean_cosine", "Mean cosine", "Mean over chunks of the cosine of the embedding with that of the reference.",
        [](const S& s) -> Figure { return s.cosine.mean; });
    out.push_back(cosineColumn("mean_cosine_error", "± of mean", "Standard error of the mean over chunks.",
                               Direction::None, [](const S& s) { return s.cosine.byChunk; }));
    add("min_cosine", "Min cosine", "The smallest cosine of a chunk.", [](const S& s) -> Figure { return s.least; });
    add("cosine_1", "p1 cosine", "1 % of all chunks have a smaller cosine.",
        [](const S& s) -> Figure { return s.percentile1; });
    add("cosine_10", "p10 cosine", "10 % of all chunks have a smaller cosine.",
        [](const S& s) -> Figure { return s.percentile10; });
    add("median_cosine", "Median cosine", "Half of all chunks have a smaller cosine.",
        [](const S& s) -> Figure { return s.median; });
    out.push_back(countColumn("chunks", "Chunks", "Chunks with a finite cosine.", [](const S& s) { return s.chunks; }));
    out.push_back(countColumn("chunks_not_finite", "Not finite",
                              "Chunks that a NaN or infinite embedding leaves out of every figure.",
                              [](const S& s) { return s.notFinite; }));
    Column<EmbeddingRow> reason;
    reason.id = "reason", reason.title = "Reason", reason.tip = "Why there are no figures.";
    reason.value = [](const EmbeddingRow& row) -> Value { return row.reason; };
    out.push_back(reason);
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
    std::sort(sorted.begin(), sorted.end());
    out.least = sorted.front(), out.median = percentile(sorted, 0.5);
    out.percentile1 = percentile(sorted, 0.01), out.percentile10 = percentile(sorted, 0.1);
    return out;
}

const Columns<EmbeddingRow>& embeddingColumns() {
    static const Columns<EmbeddingRow> columns = makeEmbeddingColumns();
    return columns;
}

std::vector<EmbeddingRow> embeddingRows(const EvaluationPlan& plan, const EmbeddingEvaluation& result) {
    std::vector<EmbeddingRow> rows;
    for (std::size_t i = 0; i < plan.changes.size(); ++i) {
        const WeightChange& change = plan.changes[i];
        rows.push_back({change.server ? change.name + " on " + change.server->title() : change.name,
                        summarizeCosines(result.cosines[i]), result.reasons[i]});
    }
    return rows;
}

Result<Report> embeddingReport(const Model& model, const EvaluationPlan& plan, const EmbeddingEvaluation& result,
                               const std::string& commandLine, const Job& job) {
    std::string details;
    for (const WeightChange& change : plan.changes) details += (details.empty() ? "" : "; ") + change.detail;
    auto provenance = modelProvenance(model, details, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    provenance->emplace_back("text_file", plan.text.path);
    provenance->emplace_back("text_sha256", plan.text.sha256);
    provenance->emplace_back("context", std::to_string(plan.context));
    provenance->emplace_back("chunks", std::to_string(result.chunks));
    provenance->emplace_back("pooling", "mean of all tokens of a chunk");

    Report report;
    report.title = model.title;
    report.subtitle = fmt::format("The embeddings under {} specs, over {} tokens in {} chunks", plan.changes.size(),
                                  result.tokens, result.chunks);
    report.provenance = std::move(*provenance);
    report.data = makeTable({}, embeddingColumns(), embeddingRows(plan, result));
    Section section;
    section.title = "Evaluation";
    section.brief = true;
    section.note = "Activations are f32: the figures show the effect of the quantized weights alone.";
    section.text = "The embedding of a chunk is the mean of its tokens' last hidden states. Its cosine with the "
                   "reference's is 1 where quantization changes no direction.";
    section.tables.push_back(report.data);
    section.tables.front().title = "Specs";
    report.sections.push_back(std::move(section));
    return report;
}

} // namespace qs::eval
