// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/sensitivity_row.h"

#include "core/base/cell.h"
#include "core/base/tip.h"

#include <cmath>

namespace qs::eval {
namespace {

using Figure = std::optional<double>;

Figure meanOf(const Figure& figure) { return figure; }
Figure meanOf(const std::optional<Estimate>& estimate) { return estimate ? Figure(estimate->mean) : std::nullopt; }

/// The columns of a table of figures.
template<class Row> struct FigureColumns : Columns<Row> {
    using enum Direction;
    using enum Show;

    /// `of`: its words; without any the column does not apply to the row.
    void words(const char* id, const char* title, const char* tip, Show show, auto of) {
        this->push_back({{id, title, "", show, 2, None, tip}, [of](const Row& row) -> Value {
                             const std::string& text = std::invoke(of, row);
                             return text.empty() ? Value() : Value(text);
                         }});
    }
    /// `of`: a figure, or an estimate, which is shown by its mean.
    void figure(ColumnInfo info, auto of) {
        this->push_back({withWholeTip(std::move(info)),
                         [of](const Row& row) { return finiteCellOf(meanOf(std::invoke(of, row))); }});
    }
    /// The standard error of an estimate when chunks are independent.
    void error(const char* id, const char* unit, const char* tip, std::optional<Estimate> Row::*of,
               Show show = Significant) {
        figure({id, "± by chunk", unit, show, 2, None, tip},
               [of](const Row& row) { return row.*of ? (row.*of)->byChunk : std::nullopt; });
    }
    void count(const char* id, const char* title, const char* tip, std::size_t Row::*of) {
        this->push_back(columnOf<Row>({id, title, "", Integer, 0, None, tip}, of));
    }
    /// A row with all figures has an empty reason: nothing is missing.
    void reason(const char* tip) { this->push_back({{"reason", "Reason", "", Text, 2, None, tip}, &Row::reason}); }
};

Columns<SensitivityRow> makeRowColumns() {
    using Row = SensitivityRow;
    using enum Direction;
    using enum Show;
    FigureColumns<Row> out;
    static const std::string kNothing;
    out.words("tensor", "Tensor", "The matrix that is measured.", Name,
              [](const Row& row) -> const std::string& { return row.isTensor ? row.unit : kNothing; });
    out.words("group", "Group", "The role or the layer whose matrices are measured together.", Text,
              [](const Row& row) -> const std::string& { return row.isTensor ? kNothing : row.unit; });
    out.words("spec", "Spec", "What the matrices were quantized as.", Code, &Row::spec);
    out.words("how", "How", "What was measured: alone, spared, slope or output.", Text, &Row::how);
    const auto size = [&](ColumnInfo info, auto of) {
        out.push_back({std::move(info),
                       [of](const Row& row) { return row.size ? cellOf(std::invoke(of, *row.size)) : Value(); }});
    };
    size({"matrices", "Matrices", "", Integer, 0, None, "Matrices of the unit."}, &ChangedSize::matrices);
    size({"bytes", "Bytes", "", Bytes, 0, LowerIsBetter, "Stored bytes of the unit under the spec."},
         &ChangedSize::bytes);
    size({"bpw", "bpw", "", Fixed, 4, LowerIsBetter, "True stored bits per weight of the unit under the spec."},
         &ChangedSize::bpw);
    out.figure(
        {"nmse", "NMSE", "", Scientific, 3, LowerIsBetter, "||V - W||^2 / ||W||^2 of the weights under the spec."},
        &Row::nmse);
    out.figure({"kl", "KL", "nats", Significant, 4, LowerIsBetter,
                "Mean KL divergence of the changed network's next token from the reference's."},
               &Row::divergence);
    out.error("kl_se_chunk", "nats", "Standard error of KL when chunks are independent (CR1). Compare with this one.",
              &Row::divergence);
    out.figure({"kl_se", "± by token", "nats", Significant, 2, None,
                "Standard error of KL when tokens are independent; it is too small."},
               [](const Row& row) { return row.divergence ? row.divergence->independent : Figure(); });
    out.figure({"gain", "KL saved", "nats", Significant, 4, HigherIsBetter,
                "KL with all quantized minus KL with all but this quantized, paired token by token."},
               &Row::gain);
    out.error("gain_se_chunk", "nats", "Standard error of KL saved when chunks are independent (CR1).", &Row::gain);
    out.figure({"slope", "KL a unit of NMSE", "nats", Significant, 4, LowerIsBetter,
                "Fit through 0 of KL against the relative squared size of noise in the weights."},
               &Row::slope);
    out.error("slope_se", "nats", "Standard error of the slope when chunks are independent (CR1).", &Row::slope);
    out.figure({"bend", "Bend", "", Significant, 3, None,
                "KL a unit at the larger noise over that at the smaller: 1 is a straight line."},
               &Row::bend);
    out.figure(
        {"predicted", "KL predicted", "nats", Significant, 4, LowerIsBetter, "Slope times the NMSE of the spec."},
        &Row::predicted);
    out.error("predicted_se", "nats", "Standard error of the prediction that comes from the slope alone.",
              &Row::predicted);
    out.figure({"output_nmse", "Output NMSE", "", Scientific, 3, LowerIsBetter,
                "||X E^T||^2 / ||X W^T||^2 on the layer's inputs X in this text."},
               &Row::outputNmse);
    out.error("output_nmse_se", "", "Standard error of the output NMSE when chunks are independent.", &Row::outputNmse,
              Scientific);
    out.figure({"weighted_nmse", "Weighted NMSE", "", Scientific, 3, LowerIsBetter,
                "sum a_j E_ij^2 / sum a_j W_ij^2 with a_j = E[x_j^2] in this text."},
               &Row::weightedNmse);
    out.error("weighted_nmse_se", "", "Standard error of the weighted NMSE when chunks are independent.",
              &Row::weightedNmse, Scientific);
    out.figure({"kl_max", "Max KL", "nats", Significant, 4, LowerIsBetter, "The largest KL of a token."},
               &Row::largestDivergence);
    out.figure({"top1", "Same top", "", Percent, 2, HigherIsBetter,
                "Share of tokens for which both networks hold the same next token for the most probable."},
               &Row::sameTop);
    out.figure({"dlnppl", "ln PPL ratio", "nats", Significant, 4, LowerIsBetter,
                "Mean change of the negative log likelihood: ln(PPL / PPL reference)."},
               &Row::nllChange);
    out.error("dlnppl_se_chunk", "nats", "Standard error of ln PPL ratio when chunks are independent (CR1).",
              &Row::nllChange);
    const auto count = [&](const char* id, const char* title, const char* tip, std::size_t Row::*of) {
        out.push_back({{id, title, "", Integer, 0, None, tip}, [of](const Row& row) {
                           const bool isMeasured = row.reason.empty() || row.tokens + row.notFinite > 0;
                           return isMeasured ? cellOf(row.*of) : Value();
                       }});
    };
    count("tokens", "Tokens", "Tokens behind the figures.", &Row::tokens);
    count("nonfinite", "Not finite", "Tokens that a NaN or infinite logit leaves out of every figure.",
          &Row::notFinite);
    out.words("status", "Status", "ok, refused or kept, with the reason beside it.", Text, [](const Row& row) {
        return std::string(row.reason.empty() ? "ok" : row.isKept ? "kept" : "refused");
    });
    out.reason("Why there are no figures.");
    return out;
}

Columns<Additivity> makeAdditivityColumns() {
    using Row = Additivity;
    using enum Direction;
    using enum Show;
    FigureColumns<Row> out;
    out.words("spec", "Spec", "What the matrices were quantized as.", Code, &Row::spec);
    out.words("how", "How", "What was measured of single units.", Text, &Row::how);
    out.figure(
        {"sum", "Sum of single", "nats", Significant, 4, None, "Sum over units of KL alone, or of the predictions."},
        &Row::sum);
    out.figure({"all", "All at once", "nats", Significant, 4, LowerIsBetter, "KL with all these units quantized."},
               &Row::all);
    out.error("all_se_chunk", "nats", "Standard error of it when chunks are independent (CR1).", &Row::all);
    out.figure(
        {"floor", "Floor", "nats", Scientific, 2, None, "KL of the reference against itself in another order of sums."},
        &Row::floor);
    out.figure({"ratio", "Additivity", "", Significant, 3, None,
                "Sum over all at once, floors subtracted. Near 1, single figures add up."},
               &Row::ratio);
    out.count("units", "Units", "Units that were measured.", &Row::units);
    out.count("missing", "Missing", "Units without a figure, which the sum lacks.", &Row::missing);
    out.reason("Why the KL of all at once is missing.");
    return out;
}

} // namespace

std::optional<Estimate> SensitivityRow::rank() const {
    for (const auto* figure : {&gain, &predicted, &slope, &outputNmse})
        if (*figure) return *figure;
    return divergence;
}

const Columns<SensitivityRow>& sensitivityColumns() {
    static const Columns<SensitivityRow> columns = makeRowColumns();
    return columns;
}

const Columns<Additivity>& additivityColumns() {
    static const Columns<Additivity> columns = makeAdditivityColumns();
    return columns;
}

} // namespace qs::eval
