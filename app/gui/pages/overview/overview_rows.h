// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From the rows of a whole model to what the overview draws. Plain functions; the layout of a model is worked out once.

#include "app/gui/model_layout.h"
#include "app/gui/model_rows.h"
#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include <vector>

namespace qs::gui {

/// NaN: not measured, refused, or infinite.
double metricValue(const Metric& metric, const AnalysisRow& row);
/// Why metricValue() is NaN; "not measured yet" for a null row.
QString missingReason(const Metric& metric, const AnalysisRow& row);
bool worse(const Metric& metric, double a, double b);
/// The value as the metric's column prints it.
QString metricText(const Metric& metric, double value);
/// "NMSE ↓"
QString metricTitle(const Metric& metric);

struct RoleMap {
    HeatMapData map;
    std::vector<int> worst; ///< per cell the weight whose value is shown (or that lacks one), -1: blank
};
RoleMap roleMap(const RoleGrid& grid, const ModelRows& rows, const Metric& metric);

struct Ranking {
    std::vector<int> order, barOf; ///< bar -> weight, worst first, not measured ones last; weight -> bar
    std::vector<double> values;    ///< per weight; NaN: not measured
    BarExtents extents;
    int measured = 0;
};
Ranking ranking(const RoleGrid& grid, const ModelRows& rows, const Metric& metric);

struct ErrorShare {
    PlotSeries curve;          ///< x: worst k tensors, y: % of the total squared error
    int tensors = 0, most = 0; ///< `most` tensors carry 80 %
};
ErrorShare errorShare(const RoleGrid& grid, const ModelRows& rows);

/// How many bytes the model takes in each format before and after.
struct ByteShares {
    std::vector<RankedBar> bars;
    std::uint64_t before = 0, after = 0, pending = 0; ///< pending: of tensors that are not measured yet
};
ByteShares byteShares(const Model& model, const Weights& weights, const ModelRows& rows, const QuantSpec& spec);

struct SqnrSpread {
    PlotSeries bars;
    double lo = 0, hi = 0, median = 0;
    int tensors = 0, exact = 0; ///< exact: no error at all, so no finite SQNR
};
SqnrSpread sqnrSpread(const RoleGrid& grid, const ModelRows& rows);

/// All that the overview draws, of one moment: its parts agree with each other.
struct OverviewPicture {
    std::shared_ptr<const Model> model; ///< null: nothing is open
    std::shared_ptr<const ModelLayout> layout = std::make_shared<ModelLayout>();
    ModelRows rows;
    QuantSpec spec;
    const Metric* metric = nullptr;
    RoleMap map;
    Ranking ranking;
    SqnrSpread spread;
    ErrorShare share;
    ByteShares bytes;
    int refused = 0; ///< tensors that the spec cannot take
    QString refusal; ///< the first of them and why
    int larger = 0;  ///< tensors that take more bits than in the source
    QString largest; ///< the first of them and why

    void work(); ///< from the first five to the others
};

} // namespace qs::gui
