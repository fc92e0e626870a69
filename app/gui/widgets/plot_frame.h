// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Everything of a plot that is not a curve: grid, tick labels, axis titles, legend, markers, dots and the crosshair.

#include "app/gui/widgets/plot_axis.h"
#include "app/gui/widgets/plot_range.h"

#include <QSizeF>

class QPainter;

namespace qs::gui {

struct PlotReadout {
    double x = 0; ///< of the crosshair; NaN: none
    struct Line {
        int token = -1; ///< swatch; -1: none
        QString text;
    };
    QVector<Line> lines;
    QVector<QPair<int, QPointF>> points; ///< token and place (plot units) of the values that the lines name
    int marker = -1;                     ///< highlighted
};

/// The pattern of PlotSeries::dash.
void setDash(QPen& pen, int dash);

class PlotFrame {
public:
    QString xTitle, yTitle;
    QString xCaption; ///< printed after the x title, not part of a read-out
    double leastLeft = 44;
    int xDecimals = -1, yDecimals = -1;
    int xPowers = 0; ///< x values are exponents of it
    bool xLabels = true, logY = false, legend = false;
    PlotRange x, y;     ///< in view
    SymlogAxis symlogX; ///< x is a place on it

    /// Ticks and margins for a size; the left margin only grows between calls of resetMargin(), so that a live chart
    /// does not jump sideways.
    void layout(QSizeF size, const QVector<PlotSeries>& series);
    void resetMargin() { leftMargin_ = 0; }
    QRectF area() const { return area_; }
    double pixelX(double x) const;
    double pixelY(double y) const; ///< plot units
    double valueX(double pixel) const;
    double shownX(double x) const; ///< what labels and read-outs print for a plot unit
    double valueY(double pixel) const;

    void paintBack(QPainter& painter) const;
    /// What lies under a curve, in plot units.
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
    QVector<QVector<int>> legendRows_; ///< indices of the named series
};

} // namespace qs::gui
