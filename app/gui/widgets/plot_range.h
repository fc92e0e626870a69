// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Computes the visible part of the data. Plain functions in plot units (log10 of the value on a logarithmic y axis).

#include "app/gui/widgets/plot_chart.h"

namespace qs::gui {

struct PlotRange {
    double lo = 0, hi = 1;
    double span() const { return hi - lo; }
    bool operator==(const PlotRange&) const = default;
};

/// The range of all finite x of all series; of the markers if there are no points.
PlotRange homeX(const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers);
/// Areas and bars start at 0; lines and dots get 5 % of space. Logarithmic: starts just below the smallest positive
/// value.
PlotRange homeY(const QVector<PlotSeries>& series, bool logarithmic);
/// The view scaled around a point, at most as wide as `home`, and not so narrow that doubles cannot resolve it.
PlotRange zoomed(PlotRange view, double about, double factor, PlotRange home);
/// The view moved, inside `home`.
PlotRange panned(PlotRange view, double by, PlotRange home);
/// The outline of a series as it is drawn: bars become steps, zeros on a logarithmic axis are at the lower edge.
QVector<QPointF> outlineOf(const PlotSeries& series, bool logarithmic, double lowerEdge);
/// Keeps the lowest and the highest point of each pixel column if `points` (ascending x) has more than two per column
/// over [view.lo, view.hi]. A line through them looks the same.
QVector<QPointF> thinned(const QVector<QPointF>& points, const PlotRange& view, double pixels);
/// Index of the point nearest to x, by bisection; -1 if there is no point.
int nearestPoint(const QVector<QPointF>& points, double x);
/// Interpolates linearly between the points; NaN outside.
double valueAt(const QVector<QPointF>& points, double x);

} // namespace qs::gui
