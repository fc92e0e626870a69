// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From two analyses of one tensor to pictures on common axes. Weights are drawn in units of scale x outermost level, so
// that formats with different code ranges share an axis.

#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_analysis.h"
#include "core/analysis/analysis.h"

#include <string>
#include <vector>

namespace qs::gui {

struct PlotExtent {
    double lo = 0, hi = 0;
    PlotExtent united(const PlotExtent& other) const { return {std::min(lo, other.lo), std::max(hi, other.hi)}; }
};

struct Picture {
    QVector<PlotSeries> series;
    QVector<PlotMarker> markers;
    QString note;
};

/// Every weight lies inside.
PlotExtent densityExtent(const TensorAnalysis& analysis);
Picture densityPicture(const TensorAnalysis& analysis, const PlotExtent& extent);
/// x are places on the axis.
Picture errorPicture(const TensorAnalysis& analysis, const ErrorAxis& axis);
/// Shares (densities on a linear axis) of B's errors minus A's.
Picture errorDifference(const TensorAnalysis& a, const TensorAnalysis& b, const ErrorAxis& axis);

HeatMapData blockMapCells(const TensorAnalysis& analysis, bool log);
/// NMSE of B - A on the finer grid of both; each cell carries the value of the (pooled) cell that covers it.
HeatMapData blockMapDifference(const TensorAnalysis& a, const TensorAnalysis& b);

struct FigureRow {
    std::string title, a, b, delta, verdict, tip; ///< verdict: "better", "worse", "same", "" without a direction
};
/// bpw, bytes and every metric of both, and B - A.
std::vector<FigureRow> figureRows(const TensorAnalysis* a, const TensorAnalysis* b);
const Columns<FigureRow>& figureColumns();

} // namespace qs::gui
