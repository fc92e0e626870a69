// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/record.h"

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

Column<WorstTokenRow> number(const char* id, const char* title, const char* unit, const char* tip,
                             double (*of)(const TokenScore&)) {
    Column<WorstTokenRow> column;
    column.id = id, column.title = title, column.unit = unit, column.tip = tip;
    column.show = Show::Significant, column.decimals = 4;
    column.value = [of](const WorstTokenRow& row) -> Value { return of(row.score); };
    return column;
}

Column<WorstTokenRow> count(const char* id, const char* title, const char* tip, std::size_t (*of)(const TokenScore&)) {
    Column<WorstTokenRow> column;
    column.id = id, column.title = title, column.tip = tip;
    column.show = Show::Integer, column.decimals = 0;
    column.value = [of](const WorstTokenRow& row) -> Value { return std::int64_t(of(row.score)); };
    return column;
}

Column<WorstTokenRow> text(const char* id, const char* title, const char* tip, std::string TokenInText::*part) {
    Column<WorstTokenRow> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Code;
    column.value = [part](const WorstTokenRow& row) -> Value { return escapeForPeople(row.text.*part, 400); };
    return column;
}

} // namespace

EvaluationRecord recordOf(const EvaluationPlan& plan, const Evaluation& result, std::vector<ScoreProfile> profiles,
                          const Tokenizer* tokenizer) {
    EvaluationRecord out;
    out.textPath = plan.text.path, out.textSha256 = plan.text.sha256, out.ids = !tokenizer;
    out.context = plan.context, out.wanted = plan.chunks, out.scored = plan.scored;
    out.tokens = result.tokens, out.chunks = result.chunks;
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
    static const Columns<WorstTokenRow> columns = [] {
        Columns<WorstTokenRow> out(1);
        out[0].id = "spec", out[0].title = "Spec", out[0].show = Show::Code;
        out[0].tip = "What the matrices of all layers were quantized as.";
        out[0].value = [](const WorstTokenRow& row) -> Value { return row.spec; };
        out.push_back(number("kld", "KL", "nats", "KL of the two distributions at this token.",
                             [](const TokenScore& s) { return s.divergence; }));
        out.push_back(number("nll_change", "Δ nll", "nats", "-ln p of this token: quantized minus reference.",
                             [](const TokenScore& s) { return s.nll - s.referenceNll; }));
        out.push_back(
            count("chunk", "Chunk", "Chunk of the text, from 0.", [](const TokenScore& s) { return s.chunk; }));
        out.push_back(count("position", "Position", "Of the last input in its chunk, from 0.",
                            [](const TokenScore& s) { return s.position; }));
        out.push_back(text("before", "Text before", "The inputs before the token.", &TokenInText::before));
        out.push_back(text("token", "Token", "The token to predict.", &TokenInText::token));
        out.push_back(text("after", "Text after", "The text that follows.", &TokenInText::after));
        return out;
    }();
    return columns;
}

std::vector<WorstTokenRow> worstTokenRows(const RecordedChange& change) {
    std::vector<WorstTokenRow> rows;
    for (std::size_t i = 0; i < change.profile.worst.size(); ++i)
        rows.push_back({change.row.label(), change.profile.worst[i], change.worst[i]});
    return rows;
}

const Columns<PositionRow>& positionColumns() {
    static const Columns<PositionRow> columns = [] {
        const auto column = [](const char* id, const char* title, const char* tip, Show show, int decimals,
                               Value (*of)(const PositionRow&)) {
            Column<PositionRow> out;
            out.id = id, out.title = title, out.tip = tip, out.show = show, out.decimals = decimals, out.value = of;
            return out;
        };
        Columns<PositionRow> out;
        out.push_back(column("spec", "Spec", "What the matrices of all layers were quantized as.", Show::Code, 0,
                             [](const PositionRow& row) -> Value { return row.spec; }));
        out.push_back(column("begin", "From", "First position in the chunk, of the last input, from 0.", Show::Integer,
                             0, [](const PositionRow& row) -> Value { return std::int64_t(row.range.begin); }));
        out.push_back(column("end", "To", "The position after the last.", Show::Integer, 0,
                             [](const PositionRow& row) -> Value { return std::int64_t(row.range.end); }));
        out.push_back(column("tokens", "Tokens", "Scored tokens at these positions of all chunks.", Show::Integer, 0,
                             [](const PositionRow& row) -> Value { return std::int64_t(row.range.tokens); }));
        out.push_back(column("kl_mean", "Mean KL", "Mean KL of these tokens.", Show::Significant, 4,
                             [](const PositionRow& row) -> Value { return row.range.divergence.mean; }));
        out.back().unit = "nats";
        out.push_back(column("kl_se_chunk", "± by chunk",
                             "Standard error of the mean KL when chunks are independent (CR1).", Show::Significant, 2,
                             [](const PositionRow& row) -> Value {
                                 const auto& error = row.range.divergence.byChunk;
                                 return error ? Value(*error) : Value(std::monostate{});
                             }));
        out.back().unit = "nats";
        return out;
    }();
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
    Section section;
    section.title = "Evidence: the model's output";
    section.brief = true;
    section.text = fmt::format(
        "{} tokens of {} in {} chunks of at most {}; scored: {}. SHA-256 of the text: {}.\n\nKL is the divergence of "
        "the "
        "quantized network's next-token distribution from that of the reference. Errors by chunk treat chunks as "
        "independent; errors by token are too small, because neighbouring tokens are alike.",
        record.tokens, nameOfPath(record.textPath), record.chunks, record.context,
        record.scored == Scored::All ? "all tokens" : "the second half of every chunk", record.textSha256);
    std::vector<EvaluationRow> rows;
    for (const auto& change : record.changes) rows.push_back(change.row);
    section.note = activationsRemark(rows);
    section.tables.push_back(evaluationTable("Specs", rows));
    Section profile = profileSection(record);
    section.tables.insert(section.tables.end(), profile.tables.begin(), profile.tables.end());
    section.plots = std::move(profile.plots);
    return section;
}

} // namespace qs::eval
