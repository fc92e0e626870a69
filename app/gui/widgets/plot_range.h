// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What part of the data a plot shows. Plain numbers in plot units (y is log10 of the value on a logarithmic axis).

#include "app/gui/widgets/plot_chart.h"

namespace qs::gui {

struct PlotRange {
    double lo = 0, hi = 1;
    double span() const { return hi - lo; }
    bool operator==(const PlotRange&) const = default;
};

/// All finite x of all series; markers alone when there are no points.
PlotRange homeX(const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers);
/// Areas and bars stand on 0; lines and dots get 5 % of air. Logarithmic: from just below the smallest positive value.
PlotRange homeY(const QVector<PlotSeries>& series, bool logarithmic);
/// Scaled about a point, never wider than home and never so narrow that doubles run out.
PlotRange zoomed(PlotRange view, double about, double factor, PlotRange home);
/// Moved, staying inside home.
PlotRange panned(PlotRange view, double by, PlotRange home);
/// The outline of a series as its area or line is drawn: bars become steps, zeros on a logarithmic axis the lower edge.
QVector<QPointF> outlineOf(const PlotSeries& series, bool logarithmic, double lowerEdge);
/// The lowest and the highest point of each pixel column, in order, where `points` (ascending x) has more than two a
/// column over [view.lo, view.hi]: what a line of them looks like is the same.
QVector<QPointF> thinned(const QVector<QPointF>& points, const PlotRange& view, double pixels);
/// Index of the point nearest to x, by bisection; -1 when there is none.
int nearestPoint(const QVector<QPointF>& points, double x);
/// Linear between the points, NaN outside.
double valueAt(const QVector<QPointF>& points, double x);

} // namespace qs::gui
