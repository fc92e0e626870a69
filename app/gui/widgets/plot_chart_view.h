// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Draws a PlotContents with Qt Charts, which only plot_chart* files include.

#include "app/gui/widgets/plot_contents.h"

#include <QtCharts/QChartView>

QT_BEGIN_NAMESPACE
class QAreaSeries;
class QChart;
class QLineSeries;
class QValueAxis;
QT_END_NAMESPACE

namespace qs::gui {

/// Qt Charts draws curves, bars and bands over hidden axes. PlotFrame paints the rest, so that a change of range needs
/// no new layout. PlotFrame also fills the area under a curve, because Qt Charts would create three items with outlines
/// for it.
class PlotChartView : public QChartView {
public:
    PlotChartView(PlotContents& plot, QWidget* parent);
    void syncSeries();  ///< after series or logY changed
    void applyRanges(); ///< after a range, a title or the size changed
    void recolour();
    void setFocusShown(bool on); ///< a ring around the chart that has the keyboard focus

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

    PlotContents& plot_;
    QChart* chart_;
    QValueAxis *x_, *y_;
    QVector<Slot> slots_;
    PlotRange thinnedIn_; ///< the view and the pixels for which the points were thinned
    double thinnedTo_ = 0;
    bool isThinned_ = false, focusShown_ = false;
};

} // namespace qs::gui
