// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/multiples_picture.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/name_text.h"
#include "app/gui/widgets/plot_axis.h"
#include "app/gui/widgets/plot_shapes.h"
#include "core/report/series_palette.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr double kNear = 12;        // pixels from the mouse to the mark that it selects
constexpr double kLeastPanel = 250; // pixels, width of a panel
constexpr double kLow = 182;        // pixels, height of a panel
constexpr double kAir = 16;         // pixels between panels
constexpr double kLegendLine = 18;  // pixels

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

void MultiplesPicture::setData(QStringList series, std::vector<Multiple> panels) {
    series_ = std::move(series);
    panels_ = std::move(panels);
    double xLo = INFINITY, xHi = -INFINITY, yLo = INFINITY, yHi = -INFINITY;
    for (const auto& panel : panels_) {
        for (const auto& dot : panel.dots) {
            xLo = std::min(xLo, dot.x), xHi = std::max(xHi, dot.x);
            yLo = std::min(yLo, dot.y), yHi = std::max(yHi, dot.y);
        }
    }
    const auto widened = [](double lo, double hi) {
        if (!(lo <= hi)) return Range{0, 1};
        const double air = hi > lo ? (hi - lo) * 0.05 : 0.5;
        return Range{lo - air, hi + air};
    };
    x_ = widened(xLo, xHi), y_ = widened(yLo, yHi);
}

double MultiplesPicture::arrange(QSizeF viewport) {
    const double width = viewport.width(), height = viewport.height();
    const QFontMetricsF metrics(Theme::numbers(10));
    legend_.clear();
    double x = 0, y = 2;
    for (const auto& name : series_) {
        const double w = 16 + metrics.horizontalAdvance(name) + 14;
        if (x > 0 && x + w > width) x = 0, y += kLegendLine;
        legend_.push_back({x, y, w, kLegendLine});
        x += w;
    }
    legendHeight_ = legend_.empty() ? 0 : y + kLegendLine + 8;
    const int n = std::max(1, int(panels_.size()));
    const int most = std::clamp(int((width + kAir) / (kLeastPanel + kAir)), 1, n);
    columns_ = most;
    const auto heightFor = [&](int columns) {
        const int rows = (n + columns - 1) / columns;
        return (height - legendHeight_ - (rows - 1) * kAir) / rows;
    };
    const auto widthFor = [&](int columns) { return (width - (columns - 1) * kAir) / columns; };
    // The fewest columns with which all panels fit and none is higher than wide.
    for (int columns = 1; columns <= most; ++columns) {
        if (heightFor(columns) < kLow || widthFor(columns) > 2.2 * heightFor(columns)) continue;
        columns_ = columns;
        break;
    }
    panelWidth_ = std::floor(widthFor(columns_));
    panelHeight_ = std::floor(std::clamp(heightFor(columns_), kLow, std::max(kLow, 0.9 * panelWidth_)));
    const int rows = (n + columns_ - 1) / columns_;
    return legendHeight_ + rows * panelHeight_ + (rows - 1) * kAir;
}

QRectF MultiplesPicture::panelRect(int panel) const {
    const int row = panel / columns_, column = panel % columns_;
    return {column * (panelWidth_ + kAir), legendHeight_ + row * (panelHeight_ + kAir) - scrolled_, panelWidth_,
            panelHeight_};
}

QRectF MultiplesPicture::plotRect(int panel) const { return panelRect(panel).adjusted(34, 38, -6, -34); }

QPointF MultiplesPicture::at(const QRectF& plot, double x, double y) const {
    return {plot.left() + (x - x_.lo) / (x_.hi - x_.lo) * plot.width(),
            plot.bottom() - (y - y_.lo) / (y_.hi - y_.lo) * plot.height()};
}

QPointF MultiplesPicture::dotPosition(int panel, int id) const {
    for (const auto& dot : panels_[std::size_t(panel)].dots)
        if (dot.id == id) return at(plotRect(panel), dot.x, dot.y);
    return {};
}

int MultiplesPicture::legendAt(QPointF position) const {
    for (std::size_t i = 0; i < legend_.size(); ++i)
        if (legend_[i].translated(0, -scrolled_).contains(position)) return int(i);
    return -1;
}

MultiplesMarks MultiplesPicture::under(QPointF position) const {
    MultiplesMarks out;
    out.hoverSeries = legendAt(position);
    double nearest = kNear;
    for (int p = 0; p < int(panels_.size()) && out.hoverSeries < 0; ++p) {
        if (!panelRect(p).contains(position)) continue;
        const QRectF plot = plotRect(p);
        for (const auto& dot : panels_[std::size_t(p)].dots) {
            const QPointF d = at(plot, dot.x, dot.y) - position;
            const double distance = std::hypot(d.x(), d.y());
            if (distance >= nearest) continue;
            nearest = distance;
            out.hoverPanel = p, out.hoverId = dot.id, out.hoverSeries = dot.series;
        }
    }
    return out;
}

void MultiplesPicture::paint(QPainter& painter, const QRectF& seen, const MultiplesMarks& marks) const {
    painter.setRenderHint(QPainter::Antialiasing);
    paintLegend(painter, marks.hoverSeries);
    for (int p = 0; p < int(panels_.size()); ++p)
        if (panelRect(p).intersects(seen)) paintPanel(painter, p, marks);
}

void MultiplesPicture::paintLegend(QPainter& painter, int hoverSeries) const {
    const auto& tokens = Theme::instance().tokens();
    painter.setFont(Theme::numbers(10));
    for (std::size_t i = 0; i < legend_.size(); ++i) {
        const QRectF box = legend_[i].translated(0, -scrolled_);
        const bool faded = hoverSeries >= 0 && hoverSeries != int(i);
        QColor colour = colourOf(int(i));
        colour.setAlphaF(faded ? 0.35f : 1.0f);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPath(markPath(int(i), {box.left() + 5, box.center().y()}, 3.6));
        painter.setPen(hoverSeries == int(i) ? tokens.text : tokens.muted);
        painter.drawText(box.adjusted(14, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, series_[int(i)]);
    }
}

void MultiplesPicture::paintPanel(QPainter& painter, int index, const MultiplesMarks& marks) const {
    const auto& tokens = Theme::instance().tokens();
    const Multiple& panel = panels_[std::size_t(index)];
    const QRectF rect = panelRect(index), plot = plotRect(index);
    const bool current = index == marks.currentPanel;
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
    painter.drawText(QRectF(rect.left(), plot.top() - 18, plot.width(), 15), Qt::AlignLeft | Qt::AlignVCenter, yTitle_);
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
        colour.setAlphaF(marks.hoverSeries < 0 ? 0.45f : marks.hoverSeries == a.series ? 0.9f : 0.12f);
        painter.setPen(QPen(colour, marks.hoverSeries == a.series ? 1.5 : 1));
        painter.drawLine(at(plot, a.x, a.y), at(plot, b.x, b.y));
    }
    std::vector<const MultipleDot*> best;
    for (const auto& dot : panel.dots)
        if (dot.best) best.push_back(&dot);
    std::ranges::stable_sort(best, [](const auto* a, const auto* b) { return a->x < b->x; });
    QPolygonF frontier;
    for (const auto* dot : best) frontier << at(plot, dot->x, dot->y);
    QColor ink = tokens.text;
    ink.setAlphaF(marks.hoverSeries < 0 ? 0.8f : 0.35f);
    painter.setPen(QPen(ink, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(frontier);
    for (const auto& dot : panel.dots) {
        const QPointF place = at(plot, dot.x, dot.y);
        const bool raised = dot.id == marks.hoverId || (current && dot.id == marks.currentId && marks.hoverId < 0);
        QColor colour = colourOf(dot.series);
        colour.setAlphaF(marks.hoverSeries >= 0 && marks.hoverSeries != dot.series ? 0.2f
                         : dot.best || raised                                      ? 1.0f
                                                                                   : 0.75f);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPath(markPath(dot.series, place, dot.best || raised ? 3.8 : 2.8));
        if (!raised) continue;
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(tokens.text, 1.4));
        painter.drawEllipse(place, 7, 7);
    }
    if (marks.focus && current && marks.currentId >= 0 && dotPosition(index, marks.currentId) != QPointF()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(tokens.accent, 2));
        painter.drawEllipse(dotPosition(index, marks.currentId), 9, 9);
    }
}

QString MultiplesPicture::asTsv() const {
    QString text =
        tr("class") + u'\t' + tr("series") + u'\t' + xTitle_ + u'\t' + yTitle_ + u'\t' + tr("frontier") + u'\n';
    for (const auto& panel : panels_)
        for (const auto& dot : panel.dots)
            text += panel.title + u'\t' + series_.value(dot.series) + u'\t' + QString::number(dot.x, 'g', 17) + u'\t' +
                    QString::number(dot.y, 'g', 17) + u'\t' + (dot.best ? tr("yes") : tr("no")) + u'\n';
    return text;
}

} // namespace qs::gui
