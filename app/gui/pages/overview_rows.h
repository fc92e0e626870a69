// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From the rows of a whole model to what the overview draws. Plain functions; the layout of a model is worked out once.

#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include "core/analysis/analysis.h"

#include <QHash>

#include <vector>

namespace qs::gui {

using Weights = std::vector<const TensorInfo*>;
using ModelRows = QHash<QString, AnalysisRow>; ///< by tensor name

/// Where each weight stands in a layer x role map. Several weights may share a cell (experts); tensors outside the
/// stack stand in the last column. A model without layers is laid out in reading order.
struct RoleGrid {
    QStringList roles, layers; ///< labels of rows and columns; `layers` is empty for a model without layers
    int rows = 0, columns = 0;
    std::vector<std::vector<int>> cells; ///< row-major, indices into the weights
    std::vector<int> rowOf, columnOf;    ///< per weight
    std::vector<QString> names;          ///< per weight, key of ModelRows
    std::vector<QString> shown;          ///< per weight, for people
    std::vector<QString> brief;          ///< without what nearly every name begins and ends with
};
RoleGrid roleGrid(const Weights& weights);

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
    std::vector<RankedBar> bars; ///< worst first; not measured ones last
    std::vector<int> order;      ///< bar -> weight
    int measured = 0;
};
Ranking ranking(const RoleGrid& grid, const ModelRows& rows, const Metric& metric);

struct ErrorShare {
    PlotSeries curve;          ///< x: worst k tensors, y: % of the total squared error
    int tensors = 0, most = 0; ///< `most` tensors carry 80 %
};
ErrorShare errorShare(const RoleGrid& grid, const ModelRows& rows);

struct SqnrSpread {
    PlotSeries bars;
    double lo = 0, hi = 0, median = 0;
    int tensors = 0, exact = 0; ///< exact: no error at all, so no finite SQNR
};
SqnrSpread sqnrSpread(const RoleGrid& grid, const ModelRows& rows);

} // namespace qs::gui
