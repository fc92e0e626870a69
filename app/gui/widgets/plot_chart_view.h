// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The inside of PlotChart: the only file that includes Qt Charts. Private to plot_chart*.cpp.

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
    PlotRange homeX, homeY; ///< plot units
    std::optional<PlotRange> wantedX, wantedY;
    PlotReadout readout;
    double crosshairX = std::numeric_limits<double>::quiet_NaN();
    QPointer<PlotChart> linked;
    bool linking = false, keyboardFocus = false;
    // A drag pans only once it left the spot, so that a click stays a click.
    bool pressed = false, dragging = false;
    int handle = -1; ///< of the marker that the mouse holds
    QPointF pressedAt, lastAt;

    int handleAt(QPointF at) const; ///< of the movable marker under a pixel, or -1
    void measureHome();
    void rehome();
    void viewMoved(PlotChart& self);
    void updateReadout();
};

/// Curves, bars and bands are Qt Charts'; everything else is painted by PlotFrame over hidden axes, which keeps a change
/// of range free of layout work. What lies under a curve too: Qt Charts builds three items with outlines for it.
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
    /// Qt Charts objects that are reused as long as the style of the series at that place stays.
    struct Slot {
        PlotSeries::Style style = PlotSeries::Style::Dots;
        QLineSeries* line = nullptr;
        QLineSeries *upper = nullptr, *lower = nullptr; ///< of bars and bands
        QAreaSeries* area = nullptr;
        QVector<QPointF> outline; ///< of an area, as thinned
    };
    void makeSlot(Slot& slot, PlotSeries::Style style);
    void dropSlot(Slot& slot);
    double pixelsAcross() const;
    void colour(const Slot& slot, const PlotSeries& series);

    PlotChart::Private& plot_;
    QChart* chart_;
    QValueAxis *x_, *y_;
    QVector<Slot> slots_;
    PlotRange thinnedIn_; ///< the view and the pixels that the points in Qt Charts were chosen for
    double thinnedTo_ = 0;
    bool isThinned_ = false;
};

} // namespace qs::gui
