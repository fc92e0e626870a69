// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/score_summary.h"
#include "core/report/report.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {
namespace {

using Row = EvaluationRow;
using S = ScoreSummary;
using Figure = std::optional<double>;

constexpr const char* kServedBy = "served_by";

Column<Row> number(const char* id, const char* title, const char* unit, Direction better, const char* tip,
                   Figure (*of)(const S&), Show show = Show::Significant, int digits = 4) {
    Column<Row> column;
    column.id = id, column.title = title, column.unit = unit, column.show = show, column.decimals = digits;
    column.better = better, column.tip = tip;
    column.value = [of](const Row& row) -> Value {
        const Figure value = row.summary ? of(*row.summary) : Figure();
        return value && std::isfinite(*value) ? Value(*value) : Value(std::monostate{});
    };
    return column;
}

Column<Row> error(const char* id, const char* title, const char* tip, Figure (*of)(const S&),
                  Show show = Show::Significant, int digits = 2) {
    return number(id, title, show == Show::Percent ? "" : "nats", Direction::None, tip, of, show, digits);
}

Column<Row> name(const char* id, const char* title, const char* tip, RowKind kind) {
    Column<Row> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Code;
    column.value = [kind](const Row& row) -> Value { return row.kind == kind ? row.spec : std::string(); };
    return column;
}

Column<Row> count(const char* id, const char* title, const char* tip, std::size_t (*of)(const S&)) {
    Column<Row> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Integer, column.decimals = 0;
    column.value = [of](const Row& row) -> Value {
        return row.summary ? Value(std::int64_t(of(*row.summary))) : Value(std::monostate{});
    };
    return column;
}

void addNames(Columns<Row>& out) {
    out.push_back(name("spec", "Spec", "What the matrices of all layers were quantized as.", RowKind::Spec));
    out.push_back(name("recipe", "Recipe", "The recipe by which all matrices were quantized.", RowKind::Recipe));
    out.push_back(name("against", "Against", "The model that is compared with the reference.", RowKind::Against));
    Column<Row> served;
    served.id = kServedBy, served.title = "Products by", served.show = Show::Text;
    served.tip = "What computed the products of the layers: a backend with its activations, as the network would be "
                 "served; or f32 here, which shows the effect of the weights alone.";
    served.value = [](const Row& row) -> Value { return row.servedBy.empty() ? "f32" : row.servedBy; };
    out.push_back(std::move(served));
}

void addDivergence(Columns<Row>& out) {
    using enum Direction;
    out.push_back(number("kl_mean", "Mean KL", "nats", LowerIsBetter,
                         "Mean over tokens of sum p ln(p / q): p from the reference, q from the quantized network.",
                         [](const S& s) -> Figure { return s.divergence.mean; }));
    out.push_back(
        error("kl_se_chunk", "± by chunk",
              "Standard error of the mean KL when chunks, not tokens, are independent (CR1). Compare with this one.",
              [](const S& s) -> Figure { return s.divergence.byChunk; }));
    out.push_back(
        error("kl_se", "± by token",
              "Standard error of the mean KL when tokens are independent, as llama.cpp prints it. It is too small.",
              [](const S& s) -> Figure { return s.divergence.independent; }));
    const auto add = [&](const char* id, const char* title, const char* tip, Figure (*of)(const S&)) {
        out.push_back(number(id, title, "nats", LowerIsBetter, tip, of));
    };
    add("kl_median", "Median KL", "Half of all tokens have a smaller KL.",
        [](const S& s) -> Figure { return s.medianDivergence; });
    add("kl_p90", "p90 KL", "90 % of all tokens have a smaller KL.",
        [](const S& s) -> Figure { return s.divergence90; });
    add("kl_p95", "p95 KL", "95 % of all tokens have a smaller KL.",
        [](const S& s) -> Figure { return s.divergence95; });
    add("kl_p99", "p99 KL", "99 % of all tokens have a smaller KL.",
        [](const S& s) -> Figure { return s.divergence99; });
    add("kl_p999", "p99.9 KL", "99.9 % of all tokens have a smaller KL.",
        [](const S& s) -> Figure { return s.divergence999; });
    add("kl_max", "Max KL", "The largest KL of a token.", [](const S& s) -> Figure { return s.largestDivergence; });
    Column<Row> floor =
        number("floor_kl", "Floor", "nats", None,
               "Mean KL of the reference against itself in another order of sums. A mean KL below twice "
               "of it says nothing.",
               nullptr, Show::Significant, 2);
    floor.value = [](const Row& row) -> Value { return row.floor ? Value(*row.floor) : Value(std::monostate{}); };
    out.push_back(std::move(floor));
    Column<Row> below;
    below.id = "below_floor", below.title = "Below floor", below.tip = "Whether the mean KL is below twice the floor.";
    below.value = [](const Row& row) -> Value {
        return row.floor && row.summary ? Value(row.belowFloor()) : Value(std::monostate{});
    };
    out.push_back(std::move(below));
}

void addPerplexity(Columns<Row>& out) {
    using enum Direction;
    out.push_back(number(
        "top1", "Same top", "", HigherIsBetter,
        "Share of tokens for which both networks hold the same next token for the most probable.",
        [](const S& s) -> Figure { return s.sameTop.mean; }, Show::Percent, 2));
    out.push_back(error(
        "top1_se", "± by token", "Standard error of that share when tokens are independent.",
        [](const S& s) -> Figure { return s.sameTop.independent; }, Show::Percent, 2));
    out.push_back(error(
        "top1_se_chunk", "± by chunk", "Standard error of that share when chunks are independent (CR1).",
        [](const S& s) -> Figure { return s.sameTop.byChunk; }, Show::Percent, 2));
    out.push_back(number("ppl_ref", "PPL reference", "", LowerIsBetter,
                         "exp(mean negative log likelihood) of the reference.",
                         [](const S& s) -> Figure { return s.referencePerplexity; }));
    out.push_back(number("ppl", "PPL", "", LowerIsBetter, "exp(mean negative log likelihood) of the quantized network.",
                         [](const S& s) -> Figure { return s.perplexity; }));
    out.push_back(number(
        "ppl_ratio", "PPL ratio", "", LowerIsBetter, "PPL / PPL reference.",
        [](const S& s) -> Figure { return std::exp(s.nllChange.mean); }, Show::Significant, 6));
    out.push_back(number("dlnppl", "ln PPL ratio", "nats", LowerIsBetter,
                         "Mean over tokens of the change of the negative log likelihood: ln(PPL / PPL reference).",
                         [](const S& s) -> Figure { return s.nllChange.mean; }));
    out.push_back(error("dlnppl_se_chunk", "± by chunk",
                        "Standard error of ln PPL ratio when chunks are independent (CR1).",
                        [](const S& s) -> Figure { return s.nllChange.byChunk; }));
    out.push_back(error("dlnppl_se", "± by token", "Standard error of ln PPL ratio when tokens are independent.",
                        [](const S& s) -> Figure { return s.nllChange.independent; }));
}

void addChange(Columns<Row>& out) {
    using enum Direction;
    out.push_back(number(
        "dp_mean", "Mean Δp", "", None, "Mean change of the probability of the token that follows in the text.",
        [](const S& s) -> Figure { return s.probabilityChange.mean; }, Show::Percent, 3));
    out.push_back(number(
        "dp_rms", "RMS Δp", "", LowerIsBetter, "Root mean square of that change.",
        [](const S& s) -> Figure { return s.probabilityChangeRms; }, Show::Percent, 3));
    const auto add = [&](const char* id, const char* title, const char* tip, Figure (*of)(const S&)) {
        out.push_back(number(id, title, "", None, tip, of, Show::Percent, 3));
    };
    add("dp_min", "Least Δp", "The least change.",
        [](const S& s) -> Figure { return s.changeSpread ? Figure(s.changeSpread->least) : Figure(); });
    add("dp_p1", "p1 Δp", "1 % of all tokens have a smaller change.",
        [](const S& s) -> Figure { return s.changeSpread ? Figure(s.changeSpread->p1) : Figure(); });
    add("dp_p5", "p5 Δp", "5 % of all tokens have a smaller change.",
        [](const S& s) -> Figure { return s.changeSpread ? Figure(s.changeSpread->p5) : Figure(); });
    add("dp_median", "Median Δp", "Half of all tokens have a smaller change.",
        [](const S& s) -> Figure { return s.changeSpread ? Figure(s.changeSpread->median) : Figure(); });
    add("dp_p95", "p95 Δp", "95 % of all tokens have a smaller change.",
        [](const S& s) -> Figure { return s.changeSpread ? Figure(s.changeSpread->p95) : Figure(); });
    add("dp_p99", "p99 Δp", "99 % of all tokens have a smaller change.",
        [](const S& s) -> Figure { return s.changeSpread ? Figure(s.changeSpread->p99) : Figure(); });
    add("dp_max", "Max Δp", "The largest change.",
        [](const S& s) -> Figure { return s.changeSpread ? Figure(s.changeSpread->largest) : Figure(); });
}

void addCounts(Columns<Row>& out) {
    out.push_back(count("tokens", "Tokens", "Scored tokens with finite logits.", [](const S& s) { return s.tokens; }));
    out.push_back(count("nonfinite", "Not finite", "Tokens that a NaN or infinite logit leaves out of every figure.",
                        [](const S& s) { return s.notFinite; }));
    out.push_back(count("chunks", "Chunks", "Chunks with scored tokens.", [](const S& s) { return s.chunks; }));
    Column<Row> status;
    status.id = "status", status.title = "Status", status.tip = "ok, or failed with a reason.";
    status.value = [](const Row& row) -> Value { return std::string(row.summary ? "ok" : "failed"); };
    out.push_back(std::move(status));
    Column<Row> reason;
    reason.id = "reason", reason.title = "Reason", reason.tip = "Why there are no figures.";
    reason.value = [](const Row& row) -> Value { return row.reason; };
    out.push_back(std::move(reason));
}

} // namespace

const Columns<EvaluationRow>& evaluationColumns() {
    static const Columns<EvaluationRow> columns = [] {
        Columns<Row> out;
        addNames(out), addDivergence(out), addPerplexity(out), addChange(out), addCounts(out);
        return out;
    }();
    return columns;
}

Table evaluationTable(std::string title, const std::vector<EvaluationRow>& rows) {
    const Table all = makeTable(std::move(title), evaluationColumns(), rows);
    std::vector<std::string_view> ids;
    for (std::size_t i = 0; i < all.columns.size(); ++i) {
        const bool isName = i <= std::size_t(RowKind::Against);
        const bool isServer = all.columns[i].id == kServedBy;
        const auto has = [&](const EvaluationRow& row) {
            return isServer ? !row.servedBy.empty() : std::size_t(row.kind) == i;
        };
        if (!(isName || isServer) || std::any_of(rows.begin(), rows.end(), has)) ids.push_back(all.columns[i].id);
    }
    return withColumns(all, ids);
}

} // namespace qs::eval
