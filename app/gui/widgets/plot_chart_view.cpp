// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_chart_view.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QGraphicsLayout>
#include <QPainter>
#include <QtCharts/QAreaSeries>
#include <QtCharts/QChart>
#include <QtCharts/QLegend>
#include <QtCharts/QLineSeries>
#include <QtCharts/QValueAxis>

#include <cmath>

namespace qs::gui {

PlotChartView::PlotChartView(PlotContents& plot, QWidget* parent)
    : QChartView(parent), plot_(plot), chart_(chart()), x_(new QValueAxis(chart_)), y_(new QValueAxis(chart_)) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setRenderHint(QPainter::Antialiasing);
    // Repainting the whole view is cheaper than computing which parts a moved curve uncovers.
    setViewportUpdateMode(QGraphicsView::FullViewportUpdate);
    setOptimizationFlags(QGraphicsView::DontSavePainterState | QGraphicsView::DontAdjustForAntialiasing);
    viewport()->setObjectName(QStringLiteral("plot"));
    viewport()->setAutoFillBackground(false);
    SharedPainting::of(*viewport(), SharedPainting::Fit::Stretched);
    setContextMenuPolicy(Qt::NoContextMenu); // PlotChart shows the menu
    chart_->setBackgroundVisible(false);
    chart_->setMargins({});
    chart_->layout()->setContentsMargins(0, 0, 0, 0);
    chart_->legend()->hide();
    for (QValueAxis* axis : {x_, y_}) {
        axis->setVisible(false);
        chart_->addAxis(axis, axis == x_ ? Qt::AlignBottom : Qt::AlignLeft);
    }
}

void PlotChartView::makeSlot(Slot& slot, PlotSeries::Style style) {
    slot.style = style;
    const auto attach = [this](QAbstractSeries* series) {
        chart_->addSeries(series);
        series->attachAxis(x_);
        series->attachAxis(y_);
    };
    if (style == PlotSeries::Style::Bars || style == PlotSeries::Style::Band) {
        slot.upper = new QLineSeries;
        slot.lower = new QLineSeries;
        slot.area = new QAreaSeries(slot.upper, slot.lower);
        slot.upper->setParent(slot.area);
        slot.lower->setParent(slot.area);
        attach(slot.area);
    }
    if (style == PlotSeries::Style::Area || style == PlotSeries::Style::Line) {
        slot.line = new QLineSeries;
        attach(slot.line);
    }
}

void PlotChartView::dropSlot(Slot& slot) {
    for (QAbstractSeries* series :
         {static_cast<QAbstractSeries*>(slot.line), static_cast<QAbstractSeries*>(slot.area)}) {
        if (!series) continue;
        chart_->removeSeries(series);
        delete series;
    }
    slot = {};
}

void PlotChartView::syncSeries() {
    while (slots_.size() > plot_.series.size()) {
        dropSlot(slots_.last());
        slots_.removeLast();
    }
    const PlotFrame& frame = plot_.frame;
    // Set the ranges first: otherwise Qt Charts computes the geometry of the old points in them.
    x_->setRange(frame.x.lo, frame.x.hi);
    y_->setRange(frame.y.lo, frame.y.hi);
    thinnedIn_ = frame.x;
    thinnedTo_ = pixelsAcross();
    isThinned_ = false;
    const auto drawn = [&](const QVector<QPointF>& outline) {
        auto few = thinned(outline, thinnedIn_, thinnedTo_);
        isThinned_ = isThinned_ || few.size() < outline.size();
        return few;
    };
    for (int i = 0; i < plot_.series.size(); ++i) {
        const PlotSeries& series = plot_.series[i];
        if (i >= slots_.size()) slots_.append(Slot{});
        Slot& slot = slots_[i];
        const bool fits = slot.style == series.style;
        if (!fits) dropSlot(slot);
        if (!fits) makeSlot(slot, series.style);
        // PlotFrame paints dots, because Qt Charts creates an item for each point
        if (series.style == PlotSeries::Style::Dots) continue;
        colour(slot, series);
        const double base = frame.logY ? plot_.homeY.lo : 0;
        QVector<QPointF> outline = outlineOf(series, frame.logY, plot_.homeY.lo);
        if (series.style == PlotSeries::Style::Area || series.style == PlotSeries::Style::Line)
            outline = drawn(outline);
        if (slot.line) slot.line->replace(outline);
        if (series.style == PlotSeries::Style::Area) slot.outline = outline;
        if (!slot.area) continue;
        const double left = outline.isEmpty() ? 0 : outline.first().x(),
                     right = outline.isEmpty() ? 0 : outline.last().x();
        if (series.style == PlotSeries::Style::Band)
            slot.lower->replace(
                outlineOf({{}, PlotSeries::Style::Line, 0, series.lower, {}, {}}, frame.logY, plot_.homeY.lo));
        else
            slot.lower->replace(QVector<QPointF>{{left, base}, {right, base}});
        slot.upper->replace(outline);
    }
}

double PlotChartView::pixelsAcross() const { return std::round(plot_.frame.area().width() * devicePixelRatioF()); }

void PlotChartView::resizeEvent(QResizeEvent* event) {
    QChartView::resizeEvent(event);
    plot_.frame.resetMargin();
    applyRanges();
}

void PlotChartView::applyRanges() {
    PlotFrame& frame = plot_.frame;
    frame.layout(QSizeF(viewport()->size()), plot_.series);
    x_->setRange(frame.x.lo, frame.x.hi);
    y_->setRange(frame.y.lo, frame.y.hi);
    if (chart_->plotArea() != frame.area()) chart_->setPlotArea(frame.area());
    // After zooming in there is room for more points. Also runs after the first layout, which follows the first series.
    if (isThinned_ && (!(thinnedIn_ == frame.x) || thinnedTo_ != pixelsAcross())) syncSeries();
    viewport()->update();
}

void PlotChartView::colour(const Slot& slot, const PlotSeries& series) {
    const QColor color = Theme::instance().data(series.token);
    QPen pen(color, 1.3);
    setDash(pen, series.dash);
    if (slot.line && (slot.line->pen().color() != color || slot.line->pen().style() != pen.style())) {
        // round joins are arcs: they double the cost of a long line and are invisible at this width
        pen.setJoinStyle(Qt::BevelJoin);
        pen.setCosmetic(true);
        slot.line->setPen(pen);
    }
    if (!slot.area) return;
    QColor fill = color;
    fill.setAlphaF(slot.style == PlotSeries::Style::Bars ? 0.85F : 0.20F);
    if (slot.area->brush().color() == fill && slot.area->brush().style() == Qt::SolidPattern) return;
    slot.area->setPen(Qt::NoPen);
    slot.area->setBrush(fill);
}

void PlotChartView::recolour() {
    for (int i = 0; i < slots_.size(); ++i) colour(slots_[i], plot_.series[i]);
    viewport()->update();
}

void PlotChartView::setFocusShown(bool on) {
    focusShown_ = on;
    viewport()->update();
}

void PlotChartView::drawBackground(QPainter* painter, const QRectF&) {
    plot_.frame.paintBack(*painter);
    for (int i = 0; i < std::min(slots_.size(), plot_.series.size()); ++i) {
        if (slots_[i].style != PlotSeries::Style::Area) continue;
        plot_.frame.paintArea(*painter, slots_[i].outline, plot_.frame.logY ? plot_.homeY.lo : 0,
                              plot_.series[i].token);
    }
}

void PlotChartView::drawForeground(QPainter* painter, const QRectF&) {
    plot_.frame.paintFront(*painter, plot_.series, plot_.markers, plot_.readout);
    if (!focusShown_) return;
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(Theme::instance().tokens().accent, 2));
    painter->setBrush(Qt::NoBrush);
    painter->drawRoundedRect(QRectF(viewport()->rect()).adjusted(1, 1, -1, -1), 6, 6);
}

} // namespace qs::gui
