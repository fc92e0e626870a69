// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_frame.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/plot_shapes.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr double kLegendGap = 28; // pixels before a name: space and its mark
bool inLegend(const PlotSeries& series) {
    return series.naming == PlotSeries::Naming::Legend && !series.name.isEmpty();
}

const QFont& tickFont() {
    static const QFont font = Theme::numbers(10);
    return font;
}
const QFont& titleFont() {
    static const QFont font = Theme::words(10);
    return font;
}

QColor withAlpha(QColor color, double alpha) {
    color.setAlphaF(float(alpha));
    return color;
}

constexpr double kRight = 14, kLegendRow = 15; // px

} // namespace

void setDash(QPen& pen, int dash) {
    static const QVector<qreal> patterns[] = {{}, {4, 2.5}, {1.5, 2}, {5, 2, 1.5, 2}};
    if (dash % 4) pen.setDashPattern(patterns[dash % 4]);
}

double PlotFrame::pixelX(double value) const { return area_.left() + (value - x.lo) / x.span() * area_.width(); }
double PlotFrame::pixelY(double value) const { return area_.bottom() - (value - y.lo) / y.span() * area_.height(); }
double PlotFrame::valueX(double pixel) const { return x.lo + (pixel - area_.left()) / area_.width() * x.span(); }
double PlotFrame::shownX(double at) const { return xPowers ? std::pow(double(xPowers), at) : symlogX.value(at); }
double PlotFrame::valueY(double pixel) const { return y.lo + (area_.bottom() - pixel) / area_.height() * y.span(); }

void PlotFrame::layout(QSizeF size, const QVector<PlotSeries>& series) {
    size_ = size;
    const bool header = !yTitle.isEmpty() || (legend && series.size() > 1);
    layoutLegend(series);
    const double top = (header ? 20 : 8) + kLegendRow * std::max(0, int(legendRows_.size()) - 1);
    const double bottom = (xLabels ? 18 : 6) + (xLabels && !xTitle.isEmpty() ? 14 : 0);
    const double height = std::max(10.0, size.height() - top - bottom);
    const int yMost = std::clamp(int(height / 26), 2, 6);
    yTicks_ = logY ? logTicks(y.lo, y.hi, yMost) : linearTicks(y.lo, y.hi, yMost, yDecimals);
    const QFontMetricsF metrics(tickFont());
    double widest = leastLeft;
    for (const PlotTick& tick : yTicks_.ticks) widest = std::max(widest, metrics.horizontalAdvance(tick.label) + 8);
    leftMargin_ = std::max(leftMargin_, std::ceil(widest));
    area_ = QRectF(leftMargin_, top, std::max(10.0, size.width() - leftMargin_ - kRight), height);
    const int xMost = std::clamp(int(area_.width() / 64), 2, 6);
    xTicks_ = symlogX.on() ? symlogTicks(symlogX, x.lo, x.hi, xMost)
              : xPowers    ? powerTicks(x.lo, x.hi, xMost, xPowers)
                           : linearTicks(x.lo, x.hi, xMost, xDecimals);
}

void PlotFrame::paintBack(QPainter& painter) const {
    const Tokens& tokens = Theme::instance().tokens();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(tokens.line, 1));
    for (const PlotTick& tick : xTicks_.ticks) {
        const double at = pixelX(tick.at);
        drawStraight(painter, QPointF(at, area_.top()), QPointF(at, area_.bottom()));
    }
    for (const PlotTick& tick : yTicks_.ticks) {
        const double at = pixelY(tick.at);
        drawStraight(painter, QPointF(area_.left(), at), QPointF(area_.right(), at));
    }
    painter.setPen(tokens.muted);
    painter.setFont(tickFont());
    for (const PlotTick& tick : yTicks_.ticks) {
        const QRectF box(0, pixelY(tick.at) - 8, area_.left() - 6, 16);
        painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, tick.label);
    }
    if (xLabels) {
        for (const PlotTick& tick : xTicks_.ticks) {
            const QRectF box(pixelX(tick.at) - 40, area_.bottom() + 3, 80, 14);
            painter.drawText(box, Qt::AlignHCenter | Qt::AlignVCenter, tick.label);
        }
    }
    painter.setFont(titleFont());
    const auto titled = [](const QString& title, const PlotTicks& ticks) {
        return ticks.exponent == 0 ? title : (title.isEmpty() ? QString() : title + u' ') + timesTenTo(ticks.exponent);
    };
    painter.drawText(QRectF(2, 0, area_.right(), 14), Qt::AlignLeft | Qt::AlignVCenter, titled(yTitle, yTicks_));
    if (xLabels) {
        // Centred under the plot; if too long, under the whole chart; if still too long, without its caption.
        const QFontMetricsF words(titleFont());
        QString text = titled(xTitle, xTicks_) + xCaption;
        if (words.horizontalAdvance(text) > size_.width()) text = titled(xTitle, xTicks_);
        const bool fits = words.horizontalAdvance(text) <= area_.width();
        painter.drawText(QRectF(fits ? area_.left() : 0, area_.bottom() + 17, fits ? area_.width() : size_.width(), 14),
                         Qt::AlignHCenter | Qt::AlignVCenter,
                         words.elidedText(text, Qt::ElideRight, std::max(area_.width(), size_.width())));
    }
    painter.setRenderHint(QPainter::Antialiasing, true); // curves are painted next
}

void PlotFrame::paintFront(QPainter& painter, const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers,
                           const PlotReadout& readout) const {
    painter.save();
    painter.setClipRect(area_.adjusted(-3, -3, 3, 3));
    paintMarkers(painter, markers, readout.marker);
    bool hollow = false;
    for (const PlotSeries& one : series) {
        if (one.style != PlotSeries::Style::Dots) continue;
        if (one.ring) {
            paintRings(painter, one);
            continue;
        }
        const bool named = one.naming == PlotSeries::Naming::Legend;
        paintSeriesDots(painter, one, hollow && named);
        hollow |= named;
    }
    painter.restore();
    paintLabels(painter, series);
    if (!legendRows_.isEmpty()) paintLegend(painter, series);
    if (!std::isnan(readout.x)) paintReadout(painter, readout);
}

void PlotFrame::paintMarkers(QPainter& painter, const QVector<PlotMarker>& markers, int highlighted) const {
    painter.setRenderHint(QPainter::Antialiasing, false);
    int inView = 0;
    for (const PlotMarker& marker : markers) inView += marker.x >= x.lo && marker.x <= x.hi;
    // Solid lines closer than 5 px would hide the curve: they become short lines at the lower edge, and grow on zooming
    // in.
    const bool dense = inView > 1 && area_.width() / inView < 5;
    double printedTo = -1e9;
    for (int i = 0; i < markers.size(); ++i) {
        const PlotMarker& marker = markers[i];
        const double at = pixelX(marker.x);
        if (at < area_.left() - 1 || at > area_.right() + 1) continue;
        const bool full = !dense || i == highlighted;
        if (!full && marker.dashed) continue; // dashed markers are drawn only when there is room
        QPen pen(withAlpha(Theme::instance().data(marker.token), full ? (marker.dashed ? 0.6 : 0.8) : 0.55),
                 i == highlighted ? 2 : 1);
        if (marker.dashed) pen.setDashPattern({4, 3});
        painter.setPen(pen);
        drawStraight(painter, QPointF(at, full ? area_.top() : area_.bottom() - 10), QPointF(at, area_.bottom()));
        if (!marker.printed || marker.label.isEmpty() || !full) continue;
        painter.setFont(titleFont());
        const double width = QFontMetricsF(titleFont()).horizontalAdvance(marker.label);
        const double left = at + 4 + width > area_.right() ? at - 4 - width : at + 4;
        if (left < printedTo) continue;
        const QRectF box(left, area_.top(), width + 2, 12);
        painter.fillRect(box.adjusted(-1, 0, 0, 0), withAlpha(Theme::instance().tokens().surface, 0.8)); // over bars
        painter.setPen(Theme::instance().tokens().muted);
        painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, marker.label);
        printedTo = left + width + 6;
    }
}

void PlotFrame::paintSeriesDots(QPainter& painter, const PlotSeries& series, bool hollow) const {
    const double radius = area_.width() / std::max(1, int(series.points.size())) < 4 ? 1.6 : 2.6;
    const QRectF near = area_.adjusted(-8, -8, 8, 8);
    const QColor color = Theme::instance().data(series.token);
    QVector<QPointF> centers;
    centers.reserve(series.points.size());
    for (qsizetype i = 0; i < series.points.size(); ++i) {
        const QPointF& point = series.points[i];
        if (!std::isfinite(point.y()) || (logY && point.y() <= 0)) continue;
        const QPointF at(pixelX(point.x()), pixelY(logY ? std::log10(point.y()) : point.y()));
        if (!near.contains(at)) continue;
        if (i < series.radii.size())
            paintDots(painter, {at}, series.radii[i], color, hollow);
        else
            centers.append(at);
    }
    // The second series is drawn as rings: both can be told apart where they coincide, and without colour.
    paintDots(painter, centers, hollow ? radius + 0.6 : radius, color, hollow);
}

void PlotFrame::paintRings(QPainter& painter, const PlotSeries& series) const {
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(Theme::instance().tokens().text, 1.5));
    painter.setBrush(Qt::NoBrush);
    for (const QPointF& point : series.points)
        if (std::isfinite(point.y()) && (!logY || point.y() > 0))
            painter.drawEllipse(QPointF(pixelX(point.x()), pixelY(logY ? std::log10(point.y()) : point.y())), 6, 6);
}

void PlotFrame::paintArea(QPainter& painter, const QVector<QPointF>& outline, double base, int token) const {
    QVector<QPointF> curve;
    curve.reserve(outline.size());
    for (const QPointF& point : outline) curve.append({pixelX(point.x()), pixelY(point.y())});
    painter.save();
    painter.setClipRect(area_);
    paintUnder(painter, curve, pixelY(base), withAlpha(Theme::instance().data(token), 0.30));
    painter.restore();
}

void PlotFrame::paintLabels(QPainter& painter, const QVector<PlotSeries>& series) const {
    QVector<QRectF> taken;
    painter.setFont(titleFont());
    for (const PlotSeries& one : series)
        if (one.naming == PlotSeries::Naming::AtEnd) paintEndLabel(painter, one, taken);
    for (const PlotSeries& one : series)
        if (!one.labels.isEmpty()) paintPointLabels(painter, one, taken);
}

/// Paints the name of a line at the right end of its visible part; next to another name where ends are close.
void PlotFrame::paintEndLabel(QPainter& painter, const PlotSeries& one, QVector<QRectF>& taken) const {
    for (int i = int(one.points.size()) - 1; i >= 0; --i) {
        const QPointF& point = one.points[i];
        if (point.x() < x.lo || !std::isfinite(point.y()) || (logY && point.y() <= 0)) continue;
        const double at = pixelY(logY ? std::log10(point.y()) : point.y());
        if (at < area_.top() - 1 || at > area_.bottom()) return;
        const double width = QFontMetricsF(titleFont()).horizontalAdvance(one.name) + 1;
        // Above the line; below it if there is no room above; otherwise beside the label that is there.
        const double left = std::min(area_.right(), pixelX(point.x())) - 2 - width;
        const QRectF above(left, at - 12, width, 10), below(left, at + 2, width, 10);
        const auto isTaken = [&](const QRectF& place) {
            return std::ranges::any_of(taken, [&](const auto& other) { return other.intersects(place); });
        };
        QRectF box = above.top() < area_.top() || (isTaken(above) && !isTaken(below)) ? below : above;
        for (const QRectF& other : taken)
            if (other.intersects(box)) box.moveRight(other.left() - 8);
        painter.fillRect(box, Theme::instance().tokens().surface); // the next line may cross it
        painter.setPen(Theme::instance().tokens().muted);
        painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, one.name);
        taken << box;
        return;
    }
}

void PlotFrame::paintPointLabels(QPainter& painter, const PlotSeries& one, QVector<QRectF>& taken) const {
    const QFontMetricsF metrics(titleFont());
    painter.setPen(Theme::instance().data(one.token));
    if (one.style == PlotSeries::Style::Dots)
        for (const QPointF& point : one.points) {
            if (!std::isfinite(point.y()) || (logY && point.y() <= 0)) continue;
            const QPointF at(pixelX(point.x()), pixelY(logY ? std::log10(point.y()) : point.y()));
            taken << QRectF(at.x() - 3, at.y() - 3, 6, 6);
        }
    for (int i = 0; i < one.points.size() && i < one.labels.size(); ++i) {
        const QPointF& point = one.points[i];
        if (!std::isfinite(point.y()) || (logY && point.y() <= 0)) continue;
        const QPointF at(pixelX(point.x()), pixelY(logY ? std::log10(point.y()) : point.y()));
        if (!area_.contains(at)) continue;
        const double width = metrics.horizontalAdvance(one.labels[i]) + 1;
        QRectF over(at.x() - width / 2, at.y() - 16, width, 11);
        over.moveLeft(std::clamp(over.left(), area_.left(), std::max(area_.left(), area_.right() - width)));
        QVector<QRectF> places{over};
        if (one.style == PlotSeries::Style::Dots) // beside the dot; above it if there is no room
            places = {{at.x() + 6, at.y() - 5, width, 10}, {at.x() - 6 - width, at.y() - 5, width, 10}, over};
        for (const QRectF& box : places) {
            const auto meets = [&](const QRectF& other) { return other.intersects(box); };
            if (!area_.adjusted(-1, 0, 1, 6).contains(box) || std::ranges::any_of(taken, meets)) continue;
            painter.drawText(box, Qt::AlignCenter, one.labels[i]);
            taken << box;
            break;
        }
    }
}

/// Arranges the names in up to three rows. The first row shares its line with the title of the y axis.
void PlotFrame::layoutLegend(const QVector<PlotSeries>& series) {
    legendRows_.clear();
    if (!legend || series.size() < 2) return;
    const QFontMetricsF metrics(titleFont());
    double room = 0;
    for (int i = 0; i < series.size(); ++i) {
        if (!inLegend(series[i])) continue;
        const double width = metrics.horizontalAdvance(series[i].name) + kLegendGap;
        if (legendRows_.isEmpty() || (width > room && legendRows_.size() < 3 && !legendRows_.last().isEmpty())) {
            room = size_.width() - kRight - (legendRows_.isEmpty() ? metrics.horizontalAdvance(yTitle) + 8 : 0);
            legendRows_.append(QVector<int>());
        }
        legendRows_.last().append(i);
        room -= width;
    }
}

void PlotFrame::paintLegend(QPainter& painter, const QVector<PlotSeries>& series) const {
    painter.setFont(titleFont());
    painter.setRenderHint(QPainter::Antialiasing, true);
    const QFontMetricsF metrics(titleFont());
    const int rings = int(std::ranges::count_if(
        series, [](const PlotSeries& s) { return s.style == PlotSeries::Style::Dots && inLegend(s); }));
    int ring = 0;
    for (int row = 0; row < legendRows_.size(); ++row) {
        const double top = kLegendRow * row;
        double wanted = 0;
        for (const int i : legendRows_[row]) wanted += metrics.horizontalAdvance(series[i].name) + kLegendGap;
        const double room = size_.width() - kRight - (row == 0 ? metrics.horizontalAdvance(yTitle) + 8 : 0);
        const double most = wanted > room ? std::max(12.0, room / double(legendRows_[row].size()) - kLegendGap) : room;
        double left = area_.right() - std::min(wanted, room);
        for (const int i : legendRows_[row]) {
            const PlotSeries& one = series[i];
            const QString name = metrics.elidedText(one.name, Qt::ElideMiddle, most);
            const QColor color = Theme::instance().data(one.token);
            if (one.style == PlotSeries::Style::Line) {
                QPen pen(color, 1.5);
                setDash(pen, one.dash);
                painter.setPen(pen);
                painter.drawLine(QPointF(left + 7, top + 7), QPointF(left + 22, top + 7));
            } else if (one.style == PlotSeries::Style::Dots) {
                const bool hollow = rings > 1 && ring++ > 0;
                painter.setPen(QPen(color, 1.4));
                painter.setBrush(hollow ? QBrush(Qt::NoBrush) : QBrush(color));
                painter.drawEllipse(QPointF(left + 17, top + 7), 3, 3);
            } else {
                painter.fillRect(QRectF(left + 13, top + 3, 8, 8), color);
            }
            left += kLegendGap;
            const double width = metrics.horizontalAdvance(name);
            painter.setPen(Theme::instance().tokens().muted);
            painter.drawText(QRectF(left, top, width + 1, 14), Qt::AlignLeft | Qt::AlignVCenter, name);
            left += width;
        }
    }
}

void PlotFrame::paintReadout(QPainter& painter, const PlotReadout& readout) const {
    const Tokens& tokens = Theme::instance().tokens();
    const double at = pixelX(readout.x);
    if (at < area_.left() - 1 || at > area_.right() + 1) return;
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(tokens.muted, 1));
    drawStraight(painter, QPointF(at, area_.top()), QPointF(at, area_.bottom()));
    painter.setRenderHint(QPainter::Antialiasing, true);
    for (const auto& [token, point] : readout.points) {
        const QPointF center(pixelX(point.x()), pixelY(point.y()));
        if (!area_.adjusted(-1, -1, 1, 1).contains(center)) continue;
        painter.setPen(QPen(tokens.surface, 1.5));
        painter.setBrush(Theme::instance().data(token));
        painter.drawEllipse(center, 4, 4);
    }
    if (readout.lines.isEmpty()) return;
    const QFontMetricsF metrics(tickFont());
    double width = 0;
    for (const auto& line : readout.lines)
        width = std::max(width, metrics.horizontalAdvance(line.text) + (line.token >= 0 ? 14 : 0));
    const QSizeF size(width + 16, 15.0 * double(readout.lines.size()) + 8);
    double left = at + 8 + size.width() > size_.width() ? at - 8 - size.width() : at + 8;
    left = std::clamp(left, 0.0, std::max(0.0, size_.width() - size.width()));
    const QRectF box(left, area_.top() + 2, size.width(), size.height());
    painter.setPen(QPen(tokens.line, 1));
    painter.setBrush(withAlpha(tokens.raised, 0.96));
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setFont(tickFont());
    double top = box.top() + 4;
    for (const auto& line : readout.lines) {
        const double indent = line.token >= 0 ? 14 : 0;
        if (indent > 0) painter.fillRect(QRectF(box.left() + 8, top + 4, 8, 8), Theme::instance().data(line.token));
        painter.setPen(tokens.text);
        painter.drawText(QRectF(box.left() + 8 + indent, top, width, 15), Qt::AlignLeft | Qt::AlignVCenter, line.text);
        top += 15;
    }
}

} // namespace qs::gui
