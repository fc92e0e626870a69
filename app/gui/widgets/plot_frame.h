// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Paints everything of a plot except curves: grid, tick labels, axis titles, legend, markers, dots, crosshair.

#include "app/gui/widgets/plot_axis.h"
#include "app/gui/widgets/plot_range.h"

#include <QSizeF>

class QPainter;

namespace qs::gui {

struct PlotReadout {
    double x = 0; ///< of the crosshair; NaN: none
    struct Line {
        int token = -1; ///< colour of the line's mark; -1: none
        QString text;
    };
    QVector<Line> lines;
    QVector<QPair<int, QPointF>> points; ///< colour and position (plot units) of the values that the lines name
    int marker = -1;                     ///< the highlighted marker; -1: none
};

/// Sets the pattern for PlotSeries::dash.
void setDash(QPen& pen, int dash);

class PlotFrame {
public:
    QString xTitle, yTitle;
    QString xCaption; ///< printed after the x title; not in a read-out
    double leastLeft = 44;
    int xDecimals = -1, yDecimals = -1;
    int xPowers = 0; ///< x values are exponents of this base; 0: off
    bool xLabels = true, logY = false, legend = false;
    PlotRange x, y;     ///< the visible range
    SymlogAxis symlogX; ///< x is a position on this axis

    /// Computes ticks and margins for a size. Between calls of resetMargin() the left margin only grows, so that a
    /// chart that updates does not jump sideways.
    void layout(QSizeF size, const QVector<PlotSeries>& series);
    void resetMargin() { leftMargin_ = 0; }
    QRectF area() const { return area_; }
    double pixelX(double x) const;
    double pixelY(double y) const; ///< y in plot units
    double valueX(double pixel) const;
    double shownX(double x) const; ///< the value that labels and read-outs print for a plot unit
    double valueY(double pixel) const;

    void paintBack(QPainter& painter) const;
    /// Fills the area under a curve; plot units.
    void paintArea(QPainter& painter, const QVector<QPointF>& outline, double base, int token) const;
    void paintFront(QPainter& painter, const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers,
                    const PlotReadout& readout) const;

private:
    void paintMarkers(QPainter& painter, const QVector<PlotMarker>& markers, int highlighted) const;
    void paintSeriesDots(QPainter& painter, const PlotSeries& series, bool hollow) const;
    void paintRings(QPainter& painter, const PlotSeries& series) const;
    void paintLabels(QPainter& painter, const QVector<PlotSeries>& series) const;
    void paintEndLabel(QPainter& painter, const PlotSeries& series, QVector<QRectF>& taken) const;
    void paintPointLabels(QPainter& painter, const PlotSeries& series, QVector<QRectF>& taken) const;
    void paintLegend(QPainter& painter, const QVector<PlotSeries>& series) const;
    void layoutLegend(const QVector<PlotSeries>& series);
    void paintReadout(QPainter& painter, const PlotReadout& readout) const;

    QRectF area_;
    QSizeF size_;
    PlotTicks xTicks_, yTicks_;
    double leftMargin_ = 0;
    QVector<QVector<int>> legendRows_; ///< indices of the series with a name
};

} // namespace qs::gui
