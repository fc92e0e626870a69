// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/cell.h"
#include "core/base/tip.h"
#include "core/eval/scores/score_summary.h"
#include "core/report/report.h"

#include <algorithm>

namespace qs::eval {
namespace {

using Row = EvaluationRow;
using S = ScoreSummary;

constexpr const char* kServedBy = "served_by";

/// `of`: a figure of the summary.
template<class Of> Column<Row> number(ColumnInfo info, Of of) {
    return {withWholeTip(std::move(info)),
            [of](const Row& row) { return row.summary ? finiteCellOf(std::invoke(of, *row.summary)) : Value(); }};
}

template<class Of>
Column<Row> error(const char* id, const char* title, const char* tip, Of of, Show show = Show::Significant) {
    return number({id, title, show == Show::Percent ? "" : "nats", show, 2, Direction::None, tip}, of);
}

Column<Row> name(const char* id, const char* title, const char* tip, RowKind kind) {
    return {{id, title, "", Show::Code, 2, Direction::None, tip},
            [kind](const Row& row) -> Value { return row.kind == kind ? row.spec : std::string(); }};
}

Column<Row> count(const char* id, const char* title, const char* tip, std::size_t S::*of) {
    return {{id, title, "", Show::Integer, 0, Direction::None, tip},
            [of](const Row& row) { return row.summary ? cellOf((*row.summary).*of) : Value(); }};
}

void addNames(Columns<Row>& out) {
    out.push_back(name("spec", "Spec", "What the matrices were quantized as.", RowKind::Spec));
    out.push_back(name("recipe", "Recipe", "The recipe by which all matrices were quantized.", RowKind::Recipe));
    out.push_back(name("against", "Against", "The model that is compared with the reference.", RowKind::Against));
    out.push_back(
        columnOf<Row>({kServedBy, "Products by", "", Show::Text, 2, Direction::None,
                       "What computed the products of the layers: a backend with its activations, as the network would "
                       "be served; or f32 "
                       "here, which shows the effect of the weights alone."},
                      [](const Row& row) { return row.servedBy.empty() ? Value(kOwnProducts) : Value(row.servedBy); }));
}

/// `of`: a figure of the size.
template<class Of> Column<Row> sizeColumn(ColumnInfo info, Of of) {
    return {std::move(info), [of](const Row& row) { return row.size ? cellOf(std::invoke(of, *row.size)) : Value(); }};
}

void addSize(Columns<Row>& out) {
    using enum Direction;
    out.push_back(sizeColumn({"matrices", "Matrices", "", Show::Integer, 0, None,
                              "Matrices that are quantized, with the embedding and the head unless they are kept."},
                             &ChangedSize::matrices));
    out.push_back(sizeColumn({"bytes", "Bytes", "", Show::Bytes, 0, LowerIsBetter, "Stored bytes of these matrices."},
                             &ChangedSize::bytes));
    out.push_back(sizeColumn({"bpw", "bpw", "", Show::Fixed, 4, LowerIsBetter,
                              "True stored bits per weight of these matrices: 8 (codes + scales + padding) / elements"},
                             &ChangedSize::bpw));
    out.push_back(
        sizeColumn({"bpw_all", "bpw of all", "", Show::Fixed, 4, LowerIsBetter,
                    "Stored bits per weight of the whole model: what is not quantized counts as it is stored"},
                   &ChangedSize::bpwAll));
}

void addDivergence(Columns<Row>& out) {
    using enum Direction;
    out.push_back(number({"kl_mean", "Mean KL", "nats", Show::Significant, 4, LowerIsBetter,
                          "Mean over tokens of sum p ln(p / q): p from the reference, q from the quantized network."},
                         [](const S& s) { return s.divergence.mean; }));
    out.push_back(
        error("kl_se_chunk", "± by chunk",
              "Standard error of the mean KL when chunks, not tokens, are independent (CR1). Compare with this one.",
              [](const S& s) { return s.divergence.byChunk; }));
    out.push_back(
        error("kl_se", "± by token",
              "Standard error of the mean KL when tokens are independent, as llama.cpp prints it. It is too small.",
              [](const S& s) { return s.divergence.independent; }));
    const auto add = [&](const char* id, const char* title, const char* tip, auto of) {
        out.push_back(number({id, title, "nats", Show::Significant, 4, LowerIsBetter, tip}, of));
    };
    add("kl_median", "Median KL", "Half of all tokens have a smaller KL.", &S::medianDivergence);
    add("kl_p90", "p90 KL", "90 % of all tokens have a smaller KL.", &S::divergence90);
    add("kl_p95", "p95 KL", "95 % of all tokens have a smaller KL.", &S::divergence95);
    add("kl_p99", "p99 KL", "99 % of all tokens have a smaller KL.", &S::divergence99);
    add("kl_p999", "p99.9 KL", "99.9 % of all tokens have a smaller KL.", &S::divergence999);
    add("kl_max", "Max KL", "The largest KL of a token.", &S::largestDivergence);
    out.push_back(columnOf<Row>(
        {"floor_kl", "Floor", "nats", Show::Significant, 2, None,
         "Mean KL of the reference against itself in another order of sums. A mean KL below twice of it says nothing."},
        &Row::floor));
    out.push_back(columnOf<Row>(
        {"below_floor", "Below floor", "", Show::Text, 2, None, "Whether the mean KL is below twice the floor."},
        [](const Row& row) { return row.floor && row.summary ? Value(row.belowFloor()) : Value(); }));
}

void addPerplexity(Columns<Row>& out) {
    using enum Direction;
    out.push_back(number({"top1", "Same top", "", Show::Percent, 2, HigherIsBetter,
                          "Share of tokens for which both networks hold the same next token for the most probable."},
                         [](const S& s) { return s.sameTop.mean; }));
    out.push_back(error(
        "top1_se", "± by token", "Standard error of that share when tokens are independent.",
        [](const S& s) { return s.sameTop.independent; }, Show::Percent));
    out.push_back(error(
        "top1_se_chunk", "± by chunk", "Standard error of that share when chunks are independent (CR1).",
        [](const S& s) { return s.sameTop.byChunk; }, Show::Percent));
    out.push_back(number({"ppl_ref", "PPL reference", "", Show::Significant, 4, LowerIsBetter,
                          "exp(mean negative log likelihood) of the reference."},
                         &S::referencePerplexity));
    out.push_back(number({"ppl", "PPL", "", Show::Significant, 4, LowerIsBetter,
                          "exp(mean negative log likelihood) of the quantized network."},
                         &S::perplexity));
    out.push_back(number({"ppl_ratio", "PPL ratio", "", Show::Significant, 6, LowerIsBetter, "PPL / PPL reference."},
                         [](const S& s) { return std::exp(s.nllChange.mean); }));
    out.push_back(number({"dlnppl", "ln PPL ratio", "nats", Show::Significant, 4, LowerIsBetter,
                          "Mean over tokens of the change of the negative log likelihood: ln(PPL / PPL reference)."},
                         [](const S& s) { return s.nllChange.mean; }));
    out.push_back(error("dlnppl_se_chunk", "± by chunk",
                        "Standard error of ln PPL ratio when chunks are independent (CR1).",
                        [](const S& s) { return s.nllChange.byChunk; }));
    out.push_back(error("dlnppl_se", "± by token", "Standard error of ln PPL ratio when tokens are independent.",
                        [](const S& s) { return s.nllChange.independent; }));
}

void addChange(Columns<Row>& out) {
    using enum Direction;
    out.push_back(number({"dp_mean", "Mean Δp", "", Show::Percent, 3, None,
                          "Mean change of the probability of the token that follows in the text."},
                         [](const S& s) { return s.probabilityChange.mean; }));
    out.push_back(number({"dp_rms", "RMS Δp", "", Show::Percent, 3, LowerIsBetter, "Root mean square of that change."},
                         &S::probabilityChangeRms));
    const auto add = [&](const char* id, const char* title, const char* tip, auto of) {
        out.push_back(number({id, title, "", Show::Percent, 3, None, tip}, [of](const S& s) {
            return s.changeSpread ? std::optional(std::invoke(of, *s.changeSpread)) : std::nullopt;
        }));
    };
    add("dp_min", "Least Δp", "The least change.", &ChangeSpread::least);
    add("dp_p1", "p1 Δp", "1 % of all tokens have a smaller change.", &ChangeSpread::p1);
    add("dp_p5", "p5 Δp", "5 % of all tokens have a smaller change.", &ChangeSpread::p5);
    add("dp_median", "Median Δp", "Half of all tokens have a smaller change.", &ChangeSpread::median);
    add("dp_p95", "p95 Δp", "95 % of all tokens have a smaller change.", &ChangeSpread::p95);
    add("dp_p99", "p99 Δp", "99 % of all tokens have a smaller change.", &ChangeSpread::p99);
    add("dp_max", "Max Δp", "The largest change.", &ChangeSpread::largest);
}

void addCounts(Columns<Row>& out) {
    out.push_back(count("tokens", "Tokens", "Scored tokens with finite logits.", &S::tokens));
    out.push_back(count("nonfinite", "Not finite", "Tokens that a NaN or infinite logit leaves out of every figure.",
                        &S::notFinite));
    out.push_back(count("chunks", "Chunks", "Chunks with scored tokens.", &S::chunks));
    out.push_back(
        columnOf<Row>({"status", "Status", "", Show::Text, 2, Direction::None, "ok, or failed with a reason."},
                      [](const Row& row) { return row.summary ? "ok" : "failed"; }));
    out.push_back(columnOf<Row>({"reason", "Reason", "", Show::Text, 2, Direction::None,
                                 "Why there are no figures, or what to know beside them."},
                                &Row::reason));
}

} // namespace

const Columns<EvaluationRow>& evaluationColumns() {
    static const Columns<EvaluationRow> columns = [] {
        Columns<Row> out;
        addNames(out), addSize(out), addDivergence(out), addPerplexity(out), addChange(out), addCounts(out);
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
        if (!(isName || isServer) || std::ranges::any_of(rows, has)) ids.push_back(all.columns[i].id);
    }
    return withColumns(all, ids);
}

} // namespace qs::eval
