// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/sensitivity_row.h"

#include "core/base/tip.h"

#include <cmath>

namespace qs::eval {
namespace {

using Figure = std::optional<double>;

Value cellOf(Figure figure) { return figure && std::isfinite(*figure) ? Value(*figure) : Value(std::monostate{}); }
Figure meanOf(const std::optional<Estimate>& estimate) { return estimate ? Figure(estimate->mean) : std::nullopt; }
Figure errorOf(const std::optional<Estimate>& estimate) { return estimate ? estimate->byChunk : std::nullopt; }

template<class Row>
Column<Row> textColumn(const char* id, const char* title, const char* tip, Show show,
                       const std::string& (*of)(const Row&)) {
    Column<Row> column;
    column.id = id, column.title = title, column.tip = tip, column.show = show;
    column.value = [of](const Row& row) -> Value { return of(row).empty() ? Value(std::monostate{}) : Value(of(row)); };
    return column;
}

/// A row with all figures has an empty reason: nothing is missing.
template<class Row> Column<Row> reasonColumn(const char* tip) {
    Column<Row> column;
    column.id = "reason", column.title = "Reason", column.tip = tip;
    column.value = [](const Row& row) -> Value { return row.reason; };
    return column;
}

template<class Row>
Column<Row> figureColumn(const char* id, const char* title, const char* unit, Direction better, const char* tip,
                         Figure (*of)(const Row&), Show show = Show::Significant, int digits = 4) {
    Column<Row> column{withWholeTip({id, title, unit, show, digits, better, tip}), {}};
    column.value = [of](const Row& row) { return cellOf(of(row)); };
    return column;
}

template<class Row>
Column<Row> countColumn(const char* id, const char* title, const char* tip, std::size_t (*of)(const Row&)) {
    Column<Row> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Integer, column.decimals = 0;
    column.value = [of](const Row& row) -> Value { return std::int64_t(of(row)); };
    return column;
}

Columns<SensitivityRow> makeRowColumns() {
    using Row = SensitivityRow;
    using enum Direction;
    Columns<Row> out;
    static const std::string kNothing;
    out.push_back(
        textColumn<Row>("tensor", "Tensor", "The matrix that is measured.", Show::Name,
                        [](const Row& row) -> const std::string& { return row.isTensor ? row.unit : kNothing; }));
    out.push_back(
        textColumn<Row>("group", "Group", "The role or the layer whose matrices are measured together.", Show::Text,
                        [](const Row& row) -> const std::string& { return row.isTensor ? kNothing : row.unit; }));
    out.push_back(textColumn<Row>("spec", "Spec", "What the matrices were quantized as.", Show::Code,
                                  [](const Row& row) -> const std::string& { return row.spec; }));
    out.push_back(textColumn<Row>("how", "How", "What was measured: alone, spared, slope or output.", Show::Text,
                                  [](const Row& row) -> const std::string& { return row.how; }));
    const auto add = [&](Column<Row> column) { out.push_back(std::move(column)); };
    add(figureColumn<Row>(
        "nmse", "NMSE", "", LowerIsBetter, "||V - W||^2 / ||W||^2 of the weights under the spec.",
        [](const Row& row) { return row.nmse; }, Show::Scientific, 3));
    add(figureColumn<Row>("kl", "KL", "nats", LowerIsBetter,
                          "Mean KL divergence of the changed network's next token from the reference's.",
                          [](const Row& row) { return meanOf(row.divergence); }));
    add(figureColumn<Row>(
        "kl_se_chunk", "± by chunk", "nats", None,
        "Standard error of KL when chunks are independent (CR1). Compare with this one.",
        [](const Row& row) { return errorOf(row.divergence); }, Show::Significant, 2));
    add(figureColumn<Row>(
        "kl_se", "± by token", "nats", None, "Standard error of KL when tokens are independent; it is too small.",
        [](const Row& row) { return row.divergence ? row.divergence->independent : Figure(); }, Show::Significant, 2));
    add(figureColumn<Row>("gain", "KL saved", "nats", HigherIsBetter,
                          "KL with all quantized minus KL with all but this quantized, paired token by token.",
                          [](const Row& row) { return meanOf(row.gain); }));
    add(figureColumn<Row>(
        "gain_se_chunk", "± by chunk", "nats", None, "Standard error of KL saved when chunks are independent (CR1).",
        [](const Row& row) { return errorOf(row.gain); }, Show::Significant, 2));
    add(figureColumn<Row>("slope", "KL a unit of NMSE", "nats", LowerIsBetter,
                          "Fit through 0 of KL against the relative squared size of noise in the weights.",
                          [](const Row& row) { return meanOf(row.slope); }));
    add(figureColumn<Row>(
        "slope_se", "± by chunk", "nats", None, "Standard error of the slope when chunks are independent (CR1).",
        [](const Row& row) { return errorOf(row.slope); }, Show::Significant, 2));
    add(figureColumn<Row>(
        "bend", "Bend", "", None, "KL a unit at the larger noise over that at the smaller: 1 is a straight line.",
        [](const Row& row) { return row.bend; }, Show::Significant, 3));
    add(figureColumn<Row>("predicted", "KL predicted", "nats", LowerIsBetter, "Slope times the NMSE of the spec.",
                          [](const Row& row) { return meanOf(row.predicted); }));
    add(figureColumn<Row>(
        "predicted_se", "± by chunk", "nats", None, "Standard error of the prediction that comes from the slope alone.",
        [](const Row& row) { return errorOf(row.predicted); }, Show::Significant, 2));
    add(figureColumn<Row>(
        "output_nmse", "Output NMSE", "", LowerIsBetter,
        "||X E^T||^2 / ||X W^T||^2 on the layer's inputs X in this text.",
        [](const Row& row) { return meanOf(row.outputNmse); }, Show::Scientific, 3));
    add(figureColumn<Row>(
        "output_nmse_se", "± by chunk", "", None, "Standard error of the output NMSE when chunks are independent.",
        [](const Row& row) { return errorOf(row.outputNmse); }, Show::Scientific, 2));
    add(figureColumn<Row>(
        "weighted_nmse", "Weighted NMSE", "", LowerIsBetter,
        "sum a_j E_ij^2 / sum a_j W_ij^2 with a_j = E[x_j^2] in this text.",
        [](const Row& row) { return meanOf(row.weightedNmse); }, Show::Scientific, 3));
    add(figureColumn<Row>(
        "weighted_nmse_se", "± by chunk", "", None, "Standard error of the weighted NMSE when chunks are independent.",
        [](const Row& row) { return errorOf(row.weightedNmse); }, Show::Scientific, 2));
    add(figureColumn<Row>("kl_max", "Max KL", "nats", LowerIsBetter, "The largest KL of a token.",
                          [](const Row& row) { return row.largestDivergence; }));
    add(figureColumn<Row>(
        "top1", "Same top", "", HigherIsBetter,
        "Share of tokens for which both networks hold the same next token for the most probable.",
        [](const Row& row) { return row.sameTop; }, Show::Percent, 2));
    add(figureColumn<Row>("dlnppl", "ln PPL ratio", "nats", LowerIsBetter,
                          "Mean change of the negative log likelihood: ln(PPL / PPL reference).",
                          [](const Row& row) { return meanOf(row.nllChange); }));
    add(figureColumn<Row>(
        "dlnppl_se_chunk", "± by chunk", "nats", None,
        "Standard error of ln PPL ratio when chunks are independent (CR1).",
        [](const Row& row) { return errorOf(row.nllChange); }, Show::Significant, 2));
    add(countColumn<Row>("tokens", "Tokens", "Tokens behind the figures.", [](const Row& row) { return row.tokens; }));
    add(countColumn<Row>("nonfinite", "Not finite", "Tokens that a NaN or infinite logit leaves out of every figure.",
                         [](const Row& row) { return row.notFinite; }));
    Column<Row> status;
    status.id = "status", status.title = "Status", status.tip = "ok, or refused with the reason beside it.";
    status.value = [](const Row& row) -> Value { return std::string(row.reason.empty() ? "ok" : "refused"); };
    add(status);
    add(reasonColumn<Row>("Why there are no figures."));
    return out;
}

Columns<Additivity> makeAdditivityColumns() {
    using Row = Additivity;
    using enum Direction;
    Columns<Row> out;
    out.push_back(textColumn<Row>("spec", "Spec", "What the matrices were quantized as.", Show::Code,
                                  [](const Row& row) -> const std::string& { return row.spec; }));
    out.push_back(textColumn<Row>("how", "How", "What was measured of single units.", Show::Text,
                                  [](const Row& row) -> const std::string& { return row.how; }));
    const auto add = [&](Column<Row> column) { out.push_back(std::move(column)); };
    add(figureColumn<Row>("sum", "Sum of single", "nats", None, "Sum over units of KL alone, or of the predictions.",
                          [](const Row& row) { return Figure(row.sum); }));
    add(figureColumn<Row>("all", "All at once", "nats", LowerIsBetter, "KL with all these units quantized.",
                          [](const Row& row) { return meanOf(row.all); }));
    add(figureColumn<Row>(
        "all_se_chunk", "± by chunk", "nats", None, "Standard error of it when chunks are independent (CR1).",
        [](const Row& row) { return errorOf(row.all); }, Show::Significant, 2));
    add(figureColumn<Row>(
        "floor", "Floor", "nats", None, "KL of the reference against itself in another order of sums.",
        [](const Row& row) { return Figure(row.floor); }, Show::Scientific, 2));
    add(figureColumn<Row>(
        "ratio", "Additivity", "", None, "Sum over all at once, floors subtracted. Near 1, single figures add up.",
        [](const Row& row) { return row.ratio; }, Show::Significant, 3));
    add(countColumn<Row>("units", "Units", "Units that were measured.", [](const Row& row) { return row.units; }));
    add(countColumn<Row>("missing", "Missing", "Units without a figure, which the sum lacks.",
                         [](const Row& row) { return row.missing; }));
    add(reasonColumn<Row>("Why the KL of all at once is missing."));
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
