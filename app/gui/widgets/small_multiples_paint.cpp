// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme.h"
#include "app/gui/widgets/name_text.h"
#include "app/gui/widgets/plot_axis.h"
#include "app/gui/widgets/plot_shapes.h"
#include "app/gui/widgets/small_multiples.h"
#include "core/report/series_palette.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

QColor colourOf(int series) {
    return QColor(QLatin1String(seriesColour(std::size_t(std::max(0, series)), Theme::instance().isDark())));
}

QPainterPath markPath(int series, QPointF at, double r) {
    QPainterPath path;
    switch (seriesMark(std::size_t(std::max(0, series)))) {
    case SeriesMark::Disk: path.addEllipse(at, r, r); break;
    case SeriesMark::Square: path.addRect(QRectF(at.x() - 0.88 * r, at.y() - 0.88 * r, 1.76 * r, 1.76 * r)); break;
    case SeriesMark::Diamond:
        path.addPolygon(QPolygonF({at + QPointF(0, -1.25 * r), at + QPointF(1.25 * r, 0), at + QPointF(0, 1.25 * r),
                                   at + QPointF(-1.25 * r, 0)}));
        path.closeSubpath();
        break;
    case SeriesMark::Triangle:
        path.addPolygon(
            QPolygonF({at + QPointF(0, -1.2 * r), at + QPointF(1.2 * r, 0.96 * r), at + QPointF(-1.2 * r, 0.96 * r)}));
        path.closeSubpath();
        break;
    }
    return path;
}

} // namespace

void SmallMultiples::paint(QPainter& painter) const {
    painter.setRenderHint(QPainter::Antialiasing);
    paintLegend(painter);
    const QRectF seen(viewport()->rect());
    for (int p = 0; p < int(panels_.size()); ++p)
        if (panelRect(p).intersects(seen)) paintPanel(painter, p);
}

void SmallMultiples::paintLegend(QPainter& painter) const {
    const auto& tokens = Theme::instance().tokens();
    painter.setFont(Theme::numbers(10));
    for (std::size_t i = 0; i < legend_.size(); ++i) {
        const QRectF box = legend_[i].translated(0, -verticalScrollBar()->value());
        const bool faded = hoverSeries_ >= 0 && hoverSeries_ != int(i);
        QColor colour = colourOf(int(i));
        colour.setAlphaF(faded ? 0.35f : 1.0f);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPath(markPath(int(i), {box.left() + 5, box.center().y()}, 3.6));
        painter.setPen(hoverSeries_ == int(i) ? tokens.text : tokens.muted);
        painter.drawText(box.adjusted(14, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, series_[int(i)]);
    }
}

void SmallMultiples::paintPanel(QPainter& painter, int index) const {
    const auto& tokens = Theme::instance().tokens();
    const Multiple& panel = panels_[std::size_t(index)];
    const QRectF rect = panelRect(index), plot = plotRect(index);
    const bool current = index == currentPanel_;
    painter.setFont(Theme::words(11, QFont::DemiBold));
    painter.setPen(current ? tokens.text : tokens.muted);
    const QFontMetricsF title(painter.font()), small(Theme::numbers(10));
    const double noteWidth = small.horizontalAdvance(panel.note);
    painter.drawText(QRectF(rect.left(), rect.top(), rect.width() - noteWidth - 12, 18),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     fittedName(panel.title, painter.font(), rect.width() - noteWidth - 12));
    if (current)
        painter.fillRect(QRectF(rect.left(), rect.top() + 18, title.horizontalAdvance(panel.title), 2), tokens.accent);
    painter.setFont(Theme::numbers(10));
    painter.setPen(tokens.muted);
    painter.drawText(QRectF(rect.left(), rect.top(), rect.width() - 6, 18), Qt::AlignRight | Qt::AlignVCenter,
                     panel.note);

    painter.setRenderHint(QPainter::Antialiasing, false);
    const auto xTicks = linearTicks(x_.lo, x_.hi, std::clamp(int(plot.width() / 48), 2, 6));
    const auto yTicks = linearTicks(y_.lo, y_.hi, std::clamp(int(plot.height() / 26), 2, 6));
    for (const auto& tick : yTicks.ticks) {
        const double y = at(plot, x_.lo, tick.at).y();
        painter.setPen(QPen(tokens.line, 1));
        drawStraight(painter, QPointF(plot.left(), y), QPointF(plot.right(), y));
        painter.setPen(tokens.muted);
        painter.drawText(QRectF(rect.left(), y - 8, 28, 16), Qt::AlignRight | Qt::AlignVCenter, tick.label);
    }
    for (const auto& tick : xTicks.ticks) {
        const double x = at(plot, tick.at, y_.lo).x();
        painter.setPen(QPen(tokens.line, 1));
        drawStraight(painter, QPointF(x, plot.top()), QPointF(x, plot.bottom()));
        painter.setPen(tokens.muted);
        painter.drawText(QRectF(x - 24, plot.bottom() + 3, 48, 14), Qt::AlignHCenter | Qt::AlignVCenter, tick.label);
    }
    painter.setFont(Theme::words(10));
    painter.drawText(QRectF(plot.left(), plot.bottom() + 17, plot.width(), 15), Qt::AlignRight | Qt::AlignVCenter,
                     xTitle_);
    painter.drawText(QRectF(rect.left(), plot.bottom() + 17, plot.width(), 15), Qt::AlignLeft | Qt::AlignVCenter,
                     yTitle_);
    painter.setRenderHint(QPainter::Antialiasing);
    if (panel.dots.empty()) {
        painter.setFont(Theme::words(11));
        painter.setPen(tokens.warn);
        painter.drawText(plot, int(Qt::AlignCenter) | int(Qt::TextWordWrap), panel.empty);
        return;
    }
    painter.setBrush(Qt::NoBrush);
    if (comparesOrders_) {
        painter.setPen(QPen(tokens.faint, 1, Qt::DashLine));
        const double lo = std::max(x_.lo, y_.lo), hi = std::min(x_.hi, y_.hi);
        painter.drawLine(at(plot, lo, lo), at(plot, hi, hi));
    }
    for (std::size_t i = 1; i < panel.dots.size() && !comparesOrders_; ++i) {
        const auto &a = panel.dots[i - 1], &b = panel.dots[i];
        if (a.series != b.series) continue;
        QColor colour = colourOf(a.series);
        colour.setAlphaF(hoverSeries_ < 0 ? 0.45f : hoverSeries_ == a.series ? 0.9f : 0.12f);
        painter.setPen(QPen(colour, hoverSeries_ == a.series ? 1.5 : 1));
        painter.drawLine(at(plot, a.x, a.y), at(plot, b.x, b.y));
    }
    std::vector<const MultipleDot*> best;
    for (const auto& dot : panel.dots)
        if (dot.best) best.push_back(&dot);
    std::stable_sort(best.begin(), best.end(), [](const auto* a, const auto* b) { return a->x < b->x; });
    QPolygonF frontier;
    for (const auto* dot : best) frontier << at(plot, dot->x, dot->y);
    QColor ink = tokens.text;
    ink.setAlphaF(hoverSeries_ < 0 ? 0.8f : 0.35f);
    painter.setPen(QPen(ink, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(frontier);
    for (const auto& dot : panel.dots) {
        const QPointF place = at(plot, dot.x, dot.y);
        const bool raised = dot.id == hoverId_ || (current && dot.id == currentId_ && hoverId_ < 0);
        QColor colour = colourOf(dot.series);
        colour.setAlphaF(hoverSeries_ >= 0 && hoverSeries_ != dot.series ? 0.2f : dot.best || raised ? 1.0f : 0.75f);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPath(markPath(dot.series, place, dot.best || raised ? 3.8 : 2.8));
        if (!raised) continue;
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(tokens.text, 1.4));
        painter.drawEllipse(place, 7, 7);
    }
    if (hasFocus() && current && currentId_ >= 0 && dotPosition(index, currentId_) != QPointF()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(tokens.accent, 2));
        painter.drawEllipse(dotPosition(index, currentId_), 9, 9);
    }
}

} // namespace qs::gui
