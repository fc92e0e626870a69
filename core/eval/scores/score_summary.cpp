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

double percentile(std::span<const double> sorted, double fraction) {
    const double at = fraction * double(sorted.size() - 1);
    const auto below = std::size_t(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (at - double(below));
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
    std::sort(divergence.begin(), divergence.end());
    out.medianDivergence = percentile(divergence, 0.5);
    out.divergence90 = percentile(divergence, 0.9), out.divergence95 = percentile(divergence, 0.95);
    out.divergence99 = percentile(divergence, 0.99), out.divergence999 = percentile(divergence, 0.999);
    out.largestDivergence = divergence.back();
    return out;
}

namespace {

using Row = EvaluationRow;

template<class Figure> std::function<Value(const Row&)> figure(Figure of) {
    return [of](const Row& row) -> Value {
        if (!row.summary) return std::monostate{};
        const std::optional<double> value = of(*row.summary);
        return value && std::isfinite(*value) ? Value(*value) : Value(std::monostate{});
    };
}

Column<Row> number(const char* id, const char* title, const char* unit, Direction better, const char* tip,
                   std::optional<double> (*of)(const ScoreSummary&), Show show = Show::Significant, int digits = 4) {
    Column<Row> column;
    column.id = id, column.title = title, column.unit = unit, column.show = show, column.decimals = digits;
    column.better = better, column.tip = tip, column.value = figure(of);
    return column;
}

Columns<Row> makeColumns() {
    using enum Direction;
    using S = ScoreSummary;
    using Figure = std::optional<double>;
    Columns<Row> out(1);
    out[0].id = "spec", out[0].title = "Spec", out[0].show = Show::Code;
    out[0].tip = "What the matrices of all layers were quantized as.";
    out[0].value = [](const Row& row) -> Value { return row.spec; };
    const auto add = [&](Column<Row> column) { out.push_back(std::move(column)); };
    add(number("mean_kld", "Mean KL", "nats", LowerIsBetter,
               "Mean over tokens of sum p ln(p / q): p from the reference, q from the quantized network.",
               [](const S& s) -> Figure { return s.divergence.mean; }));
    add(number(
        "mean_kld_error_chunks", "± by chunk", "nats", None,
        "Standard error of the mean KL when chunks, not tokens, are independent (CR1). Compare with this one.",
        [](const S& s) -> Figure { return s.divergence.byChunk; }, Show::Significant, 2));
    add(number(
        "mean_kld_error", "± by token", "nats", None,
        "Standard error of the mean KL when tokens are independent, as llama.cpp prints it. It is too small.",
        [](const S& s) -> Figure { return s.divergence.independent; }, Show::Significant, 2));
    add(number("median_kld", "Median KL", "nats", LowerIsBetter, "Half of all tokens have a smaller KL.",
               [](const S& s) -> Figure { return s.medianDivergence; }));
    add(number("kld_90", "p90 KL", "nats", LowerIsBetter, "90 % of all tokens have a smaller KL.",
               [](const S& s) -> Figure { return s.divergence90; }));
    add(number("kld_95", "p95 KL", "nats", LowerIsBetter, "95 % of all tokens have a smaller KL.",
               [](const S& s) -> Figure { return s.divergence95; }));
    add(number("kld_99", "p99 KL", "nats", LowerIsBetter, "99 % of all tokens have a smaller KL.",
               [](const S& s) -> Figure { return s.divergence99; }));
    add(number("kld_99_9", "p99.9 KL", "nats", LowerIsBetter, "99.9 % of all tokens have a smaller KL.",
               [](const S& s) -> Figure { return s.divergence999; }));
    add(number("max_kld", "Max KL", "nats", LowerIsBetter, "The largest KL of a token.",
               [](const S& s) -> Figure { return s.largestDivergence; }));
    add(number(
        "same_top", "Same top", "", HigherIsBetter,
        "Share of tokens for which both networks hold the same next token for the most probable.",
        [](const S& s) -> Figure { return s.sameTop.mean; }, Show::Percent, 2));
    add(number("ppl_reference", "PPL reference", "", LowerIsBetter,
               "exp(mean negative log likelihood) of the reference.",
               [](const S& s) -> Figure { return s.referencePerplexity; }));
    add(number("ppl", "PPL", "", LowerIsBetter, "exp(mean negative log likelihood) of the quantized network.",
               [](const S& s) -> Figure { return s.perplexity; }));
    add(number("ln_ppl_ratio", "ln PPL ratio", "nats", LowerIsBetter,
               "Mean over tokens of the change of the negative log likelihood: ln(PPL / PPL reference).",
               [](const S& s) -> Figure { return s.nllChange.mean; }));
    add(number(
        "ln_ppl_ratio_error_chunks", "± by chunk", "nats", None,
        "Standard error of ln PPL ratio when chunks are independent (CR1).",
        [](const S& s) -> Figure { return s.nllChange.byChunk; }, Show::Significant, 2));
    add(number(
        "mean_dp", "Mean Δp", "", None, "Mean change of the probability of the token that follows in the text.",
        [](const S& s) -> Figure { return s.probabilityChange.mean; }, Show::Percent, 3));
    add(number(
        "rms_dp", "RMS Δp", "", LowerIsBetter, "Root mean square of that change.",
        [](const S& s) -> Figure { return s.probabilityChangeRms; }, Show::Percent, 3));
    Column<Row> tokens;
    tokens.id = "tokens", tokens.title = "Tokens", tokens.show = Show::Integer, tokens.decimals = 0;
    tokens.tip = "Scored tokens with finite logits.";
    tokens.value = [](const Row& row) -> Value {
        return row.summary ? Value(std::int64_t(row.summary->tokens)) : Value(std::monostate{});
    };
    out.push_back(tokens);
    Column<Row> bad = tokens;
    bad.id = "tokens_not_finite", bad.title = "Not finite";
    bad.tip = "Tokens that a NaN or infinite logit leaves out of every figure.";
    bad.value = [](const Row& row) -> Value {
        return row.summary ? Value(std::int64_t(row.summary->notFinite)) : Value(std::monostate{});
    };
    out.push_back(bad);
    Column<Row> reason;
    reason.id = "reason", reason.title = "Reason", reason.tip = "Why there are no figures.";
    reason.value = [](const Row& row) -> Value {
        return row.reason.empty() ? Value(std::monostate{}) : Value(row.reason);
    };
    out.push_back(reason);
    return out;
}

} // namespace

const Columns<EvaluationRow>& evaluationColumns() {
    static const Columns<EvaluationRow> columns = makeColumns();
    return columns;
}

} // namespace qs::eval
