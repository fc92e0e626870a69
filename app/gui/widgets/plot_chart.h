// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A chart: areas, lines, steps, dots and bands over two axes, vertical markers, a crosshair, zoom by wheel, pan by
// drag, reset by double click, copy as PNG, SVG and TSV. The only wrapper of Qt Charts. For at most about 2,000 points
// per series.

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
    enum class Style { Area, Line, Dots, Bars, Band }; ///< Band: between `lower` and `points`; not in the read-out
    QString name;
    Style style = Style::Area;
    int token = 0;           ///< 0..3: dataA..dataD of the theme; 4: muted
    QVector<QPointF> points; ///< ascending x. Bars: x is the centre, the width is the distance of the points
    /// Empty, or a word for each point that the read-out adds, such as the code. Points with notes are single
    /// measurements: the read-out names the point at its x and does not interpolate.
    QStringList notes;
    QVector<QPointF> lower = {}; ///< of a Band; same x as points
    /// AtEnd: printed on the line. AtEnd and None are not in the read-out
    enum class Naming { Legend, AtEnd, None };
    Naming naming = Naming::Legend;
    int dash = 0; ///< of a Line: 0 solid; 1, 2, 3: dash patterns that differ without colour
    /// of Bars, relative to the centre, in widths of a bar: for two series side by side
    double barFrom = -0.5, barTo = 0.5;
    QStringList labels = {};    ///< empty, or a text for each point, printed above it where there is room
    bool ring = false;          ///< of Dots: a ring around the dots marks the selection
    QVector<double> radii = {}; ///< of Dots: empty, or the radius of each dot in pixels
};

struct PlotMarker {
    double x = 0;
    QString label; ///< shown on hover, or always if `printed`
    bool dashed = false, printed = false;
    int token = 1;   ///< as PlotSeries::token
    int handle = -1; ///< >= 0: the mouse can move the marker, see markerMoved()
};

class PlotChart : public QWidget {
    Q_OBJECT
public:
    explicit PlotChart(QWidget* parent = nullptr);
    ~PlotChart() override;
    /// Creates a chart in advance: the first chart of a process loads fonts and themes of Qt Charts, which takes longer
    /// than creating all charts of a page.
    static void warmUp();

    void setAxes(const QString& xTitle, const QString& yTitle); ///< with units
    /// printed after the x title, for example the number of values outside; not in the read-out
    void setXCaption(const QString& text);
    void setLeftMargin(double pixels); ///< at least so many pixels; stacked charts need equal margins
    /// Replaces all data in one repaint; `keepZoom` keeps the user's zoom.
    void setData(const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers, bool keepZoom = false);
    /// From now on, x of points, markers and ranges is a position on this axis. Printed and copied are the values.
    void setXScale(const SymlogAxis& axis);
    void setXRange(double lo, double hi); ///< the initial range; default: the range of the data
    void setYRange(double lo, double hi);
    void setLogY(bool on);           ///< zeros are drawn at the lower edge
    void setLegend(bool on);         ///< for two or more series
    void setXDecimals(int decimals); ///< -1: as needed; 0: no ticks between whole numbers, for counts and indices
    void setYDecimals(int decimals); ///< the same for a linear y axis
    /// x values are exponents of this base, labels and read-outs print the power; 0: off
    void setXPowers(int base);
    void setXLabels(bool on);            ///< off for the upper one of two stacked charts with the same x
    void setXView(double lo, double hi); ///< for linked charts; clamped to the initial range, emits no signal
    void resetView();                    ///< as a double click
    bool isZoomed() const;
    bool logY() const;
    const QVector<PlotSeries>& series() const;
    const QVector<PlotMarker>& markers() const;
    QRectF plotArea() const;                   ///< in pixels of this widget
    QPointF pixelOf(double x, double y) const; ///< of a value, for linear and logarithmic y
    QStringList crosshairLines() const;        ///< the lines of the read-out; empty when there is none
    void copyAll() const;                      ///< copies picture, SVG and data together
    /// Sets x of the crosshair, for linked charts; NaN hides it.
    void showCrosshair(double x);
    QString dataAsTsv() const;
    QByteArray asSvg() const;
    void setYRangeLinked(PlotChart* other); ///< both charts get one y range, as on the compare page

Q_SIGNALS:
    void hovered(double x); ///< NaN when the mouse leaves
    void clicked(double x, double y);
    void markerMoved(int handle, double x); ///< while a marker is dragged; the receiver sets new markers
    void logYToggled(bool on);              ///< by the context menu
    void viewChanged(double xLo, double xHi, double yLo, double yHi);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void changeEvent(QEvent*) override;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace qs::gui
