// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/record.h"

#include "core/base/cell.h"
#include "core/base/text.h"
#include "core/eval/run/report.h"
#include "core/eval/tokenizer/tokenizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr std::size_t kTokensBefore = 24, kTokensAfter = 8;
constexpr std::size_t kReportedTokens = 20; ///< worst tokens of a spec in a report

std::string textOf(std::span<const std::int32_t> tokens, const Tokenizer* tokenizer) {
    std::string out;
    for (const std::int32_t id : tokens) out += tokenizer ? tokenizer->bytesOf(id) : fmt::format("[{}]", id);
    return out;
}

TokenInText inText(std::span<const std::int32_t> tokens, std::size_t at, const Tokenizer* tokenizer) {
    if (at >= tokens.size()) return {};
    const std::size_t begin = at - std::min(at, kTokensBefore);
    return {textOf(tokens.subspan(begin, at - begin), tokenizer), textOf(tokens.subspan(at, 1), tokenizer),
            textOf(tokens.subspan(at + 1, std::min(kTokensAfter, tokens.size() - at - 1)), tokenizer)};
}

Plot::Series seriesOf(const std::string& name) {
    Plot::Series series;
    series.name = name;
    return series;
}

Plot runningPlot(const EvaluationRecord& record) {
    Plot plot;
    plot.kind = Plot::Kind::Lines;
    plot.title = "Mean KL so far";
    plot.xTitle = "scored tokens", plot.yTitle = "mean KL, nats";
    for (const auto& change : record.changes) {
        auto series = seriesOf(change.row.label());
        for (const auto& point : change.profile.running)
            series.x.push_back(double(point.tokens)), series.y.push_back(point.divergence.mean);
        if (!series.x.empty()) plot.series.push_back(std::move(series));
    }
    return plot;
}

Plot positionPlot(const EvaluationRecord& record) {
    Plot plot;
    plot.kind = Plot::Kind::Lines;
    plot.title = "Mean KL by position in the chunk";
    plot.xTitle = "position, tokens", plot.yTitle = "mean KL, nats";
    for (const auto& change : record.changes) {
        auto series = seriesOf(change.row.label());
        for (const auto& range : change.profile.positions) {
            series.x.push_back((double(range.begin) + double(range.end) - 1) / 2);
            series.y.push_back(range.divergence.mean);
        }
        if (!series.x.empty()) plot.series.push_back(std::move(series));
    }
    return plot;
}

} // namespace

namespace {

/// What both kinds of an evaluation have.
template<class Found> EvaluationRecord recordFor(const EvaluationPlan& plan, const Found& result) {
    EvaluationRecord out;
    out.textPath = plan.text.path, out.textSha256 = plan.text.sha256;
    out.context = plan.context, out.wanted = plan.chunks, out.scored = plan.scored;
    out.tokens = result.tokens, out.chunks = result.chunks;
    out.matrices = result.matrices, out.quantizedMatrices = result.quantizedMatrices;
    return out;
}

} // namespace

EvaluationRecord recordOf(const EvaluationPlan& plan, const EmbeddingEvaluation& result) {
    EvaluationRecord out = recordFor(plan, result);
    out.ids = plan.text.tokenizer.empty();
    auto rows = embeddingRows(plan, result);
    for (std::size_t i = 0; i < rows.size(); ++i) out.embeddings.push_back({std::move(rows[i]), result.cosines[i]});
    return out;
}

EvaluationRecord recordOf(const EvaluationPlan& plan, const Evaluation& result, std::vector<ScoreProfile> profiles,
                          const Tokenizer* tokenizer) {
    EvaluationRecord out = recordFor(plan, result);
    out.ids = !tokenizer;
    const auto rows = evaluationRows(plan, result);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RecordedChange change{rows[i], std::move(profiles[i]), {}};
        for (const TokenScore& score : change.profile.worst)
            change.worst.push_back(
                inText(plan.text.tokens, score.chunk * plan.context + score.position + 1, tokenizer));
        out.changes.push_back(std::move(change));
    }
    return out;
}

const Columns<WorstTokenRow>& worstTokenColumns() {
    using R = WorstTokenRow;
    constexpr auto none = Direction::None;
    static const Columns<R> columns = {
        columnOf<R>({"spec", "Spec", "", Show::Code, 2, none, "What the matrices of all layers were quantized as."},
                    &R::spec),
        columnOf<R>({"kld", "KL", "nats", Show::Significant, 4, none, "KL of the two distributions at this token."},
                    [](const R& row) { return row.score.divergence; }),
        columnOf<R>({"nll_change", "Δ nll", "nats", Show::Significant, 4, none,
                     "-ln p of this token: quantized minus reference."},
                    [](const R& row) { return row.score.nll - row.score.referenceNll; }),
        columnOf<R>({"chunk", "Chunk", "", Show::Integer, 0, none, "Chunk of the text, from 0."},
                    [](const R& row) { return row.score.chunk; }),
        columnOf<R>({"position", "Position", "", Show::Integer, 0, none, "Of the last input in its chunk, from 0."},
                    [](const R& row) { return row.score.position; }),
        columnOf<R>({"before", "Text before", "", Show::Code, 2, none, "The inputs before the token."},
                    [](const R& row) { return escapeForPeople(row.text.before, 400); }),
        columnOf<R>({"token", "Token", "", Show::Code, 2, none, "The token to predict."},
                    [](const R& row) { return escapeForPeople(row.text.token, 400); }),
        columnOf<R>({"after", "Text after", "", Show::Code, 2, none, "The text that follows."},
                    [](const R& row) { return escapeForPeople(row.text.after, 400); }),
    };
    return columns;
}

std::vector<WorstTokenRow> worstTokenRows(const RecordedChange& change) {
    std::vector<WorstTokenRow> rows;
    for (std::size_t i = 0; i < change.profile.worst.size(); ++i)
        rows.push_back({change.row.label(), change.profile.worst[i], change.worst[i]});
    return rows;
}

const Columns<PositionRow>& positionColumns() {
    using R = PositionRow;
    constexpr auto none = Direction::None;
    static const Columns<R> columns = {
        columnOf<R>({"spec", "Spec", "", Show::Code, 0, none, "What the matrices of all layers were quantized as."},
                    &R::spec),
        columnOf<R>(
            {"begin", "From", "", Show::Integer, 0, none, "First position in the chunk, of the last input, from 0."},
            [](const R& row) { return row.range.begin; }),
        columnOf<R>({"end", "To", "", Show::Integer, 0, none, "The position after the last."},
                    [](const R& row) { return row.range.end; }),
        columnOf<R>({"tokens", "Tokens", "", Show::Integer, 0, none, "Scored tokens at these positions of all chunks."},
                    [](const R& row) { return row.range.tokens; }),
        columnOf<R>({"kl_mean", "Mean KL", "nats", Show::Significant, 4, none, "Mean KL of these tokens."},
                    [](const R& row) { return row.range.divergence.mean; }),
        columnOf<R>({"kl_se_chunk", "± by chunk", "nats", Show::Significant, 2, none,
                     "Standard error of the mean KL when chunks are independent (CR1)."},
                    [](const R& row) { return row.range.divergence.byChunk; }),
    };
    return columns;
}

std::vector<PositionRow> positionRows(const EvaluationRecord& record) {
    std::vector<PositionRow> rows;
    for (const auto& change : record.changes)
        for (const PositionRange& range : change.profile.positions) rows.push_back({change.row.label(), range});
    return rows;
}

Section profileSection(const EvaluationRecord& record) {
    Section section;
    section.title = "Along the text";
    section.text = fmt::format("The mean KL while the text is read, at each position of a chunk, and the {} tokens of "
                               "each spec with the largest KL in their text.",
                               kReportedTokens);
    std::vector<WorstTokenRow> worst;
    for (const auto& change : record.changes) {
        const auto tokens = worstTokenRows(change);
        worst.insert(worst.end(), tokens.begin(),
                     tokens.begin() + std::ptrdiff_t(std::min(tokens.size(), kReportedTokens)));
    }
    section.tables.push_back(makeTable("Tokens with the largest KL", worstTokenColumns(), worst));
    section.plots = {runningPlot(record), positionPlot(record)};
    return section;
}

Section recordSection(const EvaluationRecord& record) {
    const std::string remark = referenceRemark(record.matrices, record.quantizedMatrices);
    const std::string text = fmt::format("{} tokens of {} in {} chunks of at most {}", record.tokens,
                                         nameOfPath(record.textPath), record.chunks, record.context);
    const std::string hash = fmt::format("SHA-256 of the text: {}.", record.textSha256);
    if (!record.embeddings.empty()) {
        std::vector<EmbeddingRow> rows;
        std::vector<std::vector<double>> cosines;
        for (const auto& one : record.embeddings) rows.push_back(one.row), cosines.push_back(one.cosines);
        Section section = embeddingSection(rows, cosines, remark);
        section.text = fmt::format("{}. {}\n\n{}", text, hash, section.text);
        return section;
    }
    Section section;
    section.title = "Evidence: the model's output";
    section.brief = true;
    section.text = fmt::format(
        "{}; scored: {}. {}\n\nKL is the divergence of the quantized network's next-token distribution from that of "
        "the reference. Errors by chunk treat chunks as independent; errors by token are too small, because "
        "neighbouring tokens are alike.",
        text, record.scored == Scored::All ? "all tokens" : "the second half of every chunk", hash);
    std::vector<EvaluationRow> rows;
    for (const auto& change : record.changes) rows.push_back(change.row);
    section.note = activationsRemark(rows);
    if (!remark.empty()) section.note += " " + remark;
    section.tables.push_back(evaluationTable("Specs", rows));
    Section profile = profileSection(record);
    section.tables.insert(section.tables.end(), profile.tables.begin(), profile.tables.end());
    section.plots = std::move(profile.plots);
    return section;
}

} // namespace qs::eval
