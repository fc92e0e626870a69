// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The inside of PlotChart. The only file that includes Qt Charts; private to plot_chart*.cpp.

#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/plot_frame.h"

#include <QPointer>
#include <QtCharts/QChartView>

#include <limits>
#include <optional>

QT_BEGIN_NAMESPACE
class QAreaSeries;
class QChart;
class QLineSeries;
class QValueAxis;
QT_END_NAMESPACE

namespace qs::gui {

class PlotChartView;

struct PlotChart::Private {
    PlotChartView* view = nullptr;
    PlotFrame frame;
    QVector<PlotSeries> series;
    QVector<PlotMarker> markers;
    PlotRange homeX, homeY; ///< initial ranges in plot units
    std::optional<PlotRange> wantedX, wantedY;
    PlotReadout readout;
    double crosshairX = std::numeric_limits<double>::quiet_NaN();
    QPointer<PlotChart> linked;
    bool linking = false, keyboardFocus = false;
    // A drag pans only after the mouse has moved a little, so that a click stays a click.
    bool pressed = false, dragging = false;
    int handle = -1; ///< the marker that the mouse drags; -1: none
    QPointF pressedAt, lastAt;

    int handleAt(QPointF at) const; ///< the movable marker at a pixel, or -1
    void measureHome();
    void rehome();
    void viewMoved(PlotChart& self);
    void updateReadout();
};

/// Qt Charts draws curves, bars and bands over hidden axes. PlotFrame paints the rest, so that a change of range needs
/// no new layout. PlotFrame also fills the area under a curve, because Qt Charts would create three items with outlines
/// for it.
class PlotChartView : public QChartView {
public:
    PlotChartView(PlotChart::Private& plot, QWidget* parent);
    void syncSeries();  ///< after series or logY changed
    void applyRanges(); ///< after a range, a title or the size changed
    void recolour();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void drawBackground(QPainter* painter, const QRectF& rect) override;
    void drawForeground(QPainter* painter, const QRectF& rect) override;

private:
    /// Objects of Qt Charts for one series, kept while its style stays the same.
    struct Slot {
        PlotSeries::Style style = PlotSeries::Style::Dots;
        QLineSeries* line = nullptr;
        QLineSeries *upper = nullptr, *lower = nullptr; ///< of bars and bands
        QAreaSeries* area = nullptr;
        QVector<QPointF> outline; ///< of an area, thinned
    };
    void makeSlot(Slot& slot, PlotSeries::Style style);
    void dropSlot(Slot& slot);
    double pixelsAcross() const;
    void colour(const Slot& slot, const PlotSeries& series);

    PlotChart::Private& plot_;
    QChart* chart_;
    QValueAxis *x_, *y_;
    QVector<Slot> slots_;
    PlotRange thinnedIn_; ///< the view and the pixels for which the points were thinned
    double thinnedTo_ = 0;
    bool isThinned_ = false;
};

} // namespace qs::gui
