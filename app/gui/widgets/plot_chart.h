// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The one wrapper around Qt Charts: areas, lines, steps and points over two axes, vertical markers, crosshair, wheel
// zoom, drag pan, double-click reset, copy as PNG / SVG / TSV. At most ~2,000 points a series.

#include "core/base/symlog.h"

#include <QColor>
#include <QPointF>
#include <QRectF>
#include <QStringList>
#include <QVector>
#include <QWidget>

#include <memory>

namespace qs::gui {

struct PlotSeries {
    enum class Style { Area, Line, Dots, Bars, Band }; ///< Band: from `lower` to `points`, not in the read-out
    QString name;
    Style style = Style::Area;
    int token = 0;           ///< 0..3: dataA..dataD of the theme; 4: muted
    QVector<QPointF> points; ///< ascending x; Bars: x is the centre, bars are as wide as the spacing
    /// One per point or empty: a word more in the read-out, e.g. the code. Points with notes were measured each for
    /// itself: the read-out names those at its x and makes none up between them.
    QStringList notes;
    QVector<QPointF> lower = {};               ///< of a Band; same x as points
    enum class Naming { Legend, AtEnd, None }; ///< AtEnd, on the line itself, and None stay out of the read-out
    Naming naming = Naming::Legend;
    int dash = 0;                       ///< of a Line: 0 solid; 1, 2, 3: told apart without colour
    double barFrom = -0.5, barTo = 0.5; ///< of Bars, in widths of a bar about its centre: two series side by side
    QStringList labels = {};            ///< one per point or empty: printed over it where there is room
    bool ring = false;                  ///< of Dots: what is selected, ringed
};

struct PlotMarker {
    double x = 0;
    QString label; ///< on hover, or printed when `printed`
    bool dashed = false, printed = false;
    int token = 1;   ///< as PlotSeries::token
    int handle = -1; ///< 0 and up: the mouse can move it, see markerMoved()
};

class PlotChart : public QWidget {
    Q_OBJECT
public:
    explicit PlotChart(QWidget* parent = nullptr);
    ~PlotChart() override;
    /// The first chart of a process loads fonts and themes of Qt Charts, which takes longer than all charts of a page.
    static void warmUp();

    void setAxes(const QString& xTitle, const QString& yTitle); ///< with units
    void setXCaption(const QString& text); ///< after the x title, e.g. what lies outside; not in the read-out
    void setLeftMargin(double pixels);     ///< at least; stacked charts need the same one
    /// Replaces everything in one repaint; keeps the user's zoom when `keepZoom`.
    void setData(const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers, bool keepZoom = false);
    /// From now on x of points, markers and ranges is a place on this axis; what is printed and copied is its value.
    void setXScale(const SymlogAxis& axis);
    void setXRange(double lo, double hi); ///< the home range; without a call it is the data's
    void setYRange(double lo, double hi);
    void setLogY(bool on);           ///< zeros are drawn at the lower edge
    void setLegend(bool on);         ///< for two or more series
    void setXDecimals(int decimals); ///< -1: as needed; 0: an axis of counts or indices has no tick between them
    void setYDecimals(int decimals); ///< the same of a linear y
    void setXPowers(int base);       ///< x values are exponents of base: labels and read-outs print the power; 0: plain
    void setXLabels(bool on);        ///< off for the upper one of two stacked charts with the same x
    void setXView(double lo, double hi); ///< of a linked chart; inside home, no signal
    void resetView();                    ///< what a double click does
    bool isZoomed() const;
    bool logY() const;
    const QVector<PlotSeries>& series() const;
    const QVector<PlotMarker>& markers() const;
    QRectF plotArea() const;                   ///< in this widget's pixels
    QPointF pixelOf(double x, double y) const; ///< of a value, whatever the y axis
    QStringList crosshairLines() const;        ///< what the read-out prints; empty when there is none
    void copyAll() const;                      ///< picture, SVG and data on the clipboard at once
    /// The x of the crosshair, for linked charts; NaN hides it.
    void showCrosshair(double x);
    QString dataAsTsv() const;
    QByteArray asSvg() const;
    void setYRangeLinked(PlotChart* other); ///< same axes on the compare page

Q_SIGNALS:
    void hovered(double x); ///< NaN when the mouse leaves
    void clicked(double x, double y);
    void markerMoved(int handle, double x); ///< while it is dragged; the owner gives new markers
    void logYToggled(bool on);              ///< from the context menu
    void viewChanged(double xLo, double xHi, double yLo, double yHi);

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void changeEvent(QEvent*) override;

private:
    friend class PlotChartView;
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace qs::gui
