// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Pictures of two analyses of one tensor on common axes. The unit of weights is scale x outermost level, so that
// formats with different ranges of codes share an axis.

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

/// A range that contains every weight.
PlotExtent densityExtent(const TensorAnalysis& analysis);
Picture densityPicture(const TensorAnalysis& analysis, const PlotExtent& extent);
/// x are positions on the axis.
Picture errorPicture(const TensorAnalysis& analysis, const ErrorAxis& axis);
/// Shares of errors of B minus those of A (densities on a linear axis).
Picture errorDifference(const TensorAnalysis& a, const TensorAnalysis& b, const ErrorAxis& axis);

HeatMapData blockMapCells(const TensorAnalysis& analysis, bool log);
/// NMSE of B - A on the finer of both grids; each cell has the value of the (pooled) cell that covers it.
HeatMapData blockMapDifference(const TensorAnalysis& a, const TensorAnalysis& b);

struct FigureRow {
    /// verdict: "better", "worse", "same"; "" if the metric has no direction
    std::string title, a, b, delta, verdict, tip;
};
/// Bits per weight, bytes and every metric of A and B, and B - A.
std::vector<FigureRow> figureRows(const TensorAnalysis* a, const TensorAnalysis* b);
const Columns<FigureRow>& figureColumns();

} // namespace qs::gui
