// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_shapes.h"

#include <QImage>
#include <QPaintEngine>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>
#include <vector>

namespace qs::gui {
namespace {

constexpr double kRing = 1.4; // width of the pen in pixels
constexpr int kSteps = 4;     // positions of a dot within a pixel in each direction

/// Pictures of a dot at each position within a pixel. Copying them is ten times faster than drawing a path for each
/// dot.
class DotStamps {
public:
    DotStamps(double radius, const QColor& color, bool hollow, double ratio)
        : ratio_(ratio), half_(int(std::ceil((radius + kRing) * ratio)) + 1) {
        for (int place = 0; place < kSteps * kSteps; ++place) {
            QImage image(2 * half_ + 1, 2 * half_ + 1, QImage::Format_ARGB32_Premultiplied);
            image.fill(Qt::transparent);
            QPainter painter(&image);
            painter.setRenderHint(QPainter::Antialiasing);
            painter.scale(ratio, ratio);
            painter.setPen(hollow ? QPen(color, kRing) : QPen(Qt::NoPen));
            painter.setBrush(hollow ? QBrush(Qt::NoBrush) : QBrush(color));
            const auto at = [&](int step) { return (half_ + (step + 0.5) / kSteps) / ratio; };
            painter.drawEllipse(QPointF(at(place % kSteps), at(place / kSteps)), radius, radius);
            painter.end();
            image.setDevicePixelRatio(ratio);
            stamps_.push_back(image);
        }
    }
    /// `offset`: of the painter, in device pixels.
    void paint(QPainter& painter, const QPointF& center, const QPointF& offset) const {
        const double x = center.x() * ratio_ + offset.x(), y = center.y() * ratio_ + offset.y();
        const double column = std::floor(x), row = std::floor(y);
        const int place = int((y - row) * kSteps) * kSteps + int((x - column) * kSteps);
        painter.drawImage(QPointF((column - half_ - offset.x()) / ratio_, (row - half_ - offset.y()) / ratio_),
                          stamps_[std::size_t(place)]);
    }

private:
    double ratio_;
    int half_;
    std::vector<QImage> stamps_;
};

} // namespace

void drawStraight(QPainter& painter, QPointF from, QPointF to) {
    const QTransform device = painter.deviceTransform();
    const double scale = device.m11() > 0 ? device.m11() : 1;
    const int width = std::max(1, int(std::lround(std::max(1.0, painter.pen().widthF()) * scale)));
    const auto onPixel = [width](double at) { return std::floor(at) + (width % 2 ? 0.5 : 0); };
    QPointF a = device.map(from), b = device.map(to);
    if (from.x() == to.x()) a.rx() = b.rx() = onPixel(a.x());
    if (from.y() == to.y()) a.ry() = b.ry() = onPixel(a.y());
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    QPen pen = painter.pen();
    pen.setWidthF(width / scale);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    const QTransform back = device.inverted();
    painter.drawLine(back.map(a), back.map(b));
    painter.restore();
}

void paintUnder(QPainter& painter, const QVector<QPointF>& curve, double base, const QColor& color) {
    if (curve.isEmpty()) return;
    QPolygonF shape(curve);
    shape << QPointF(curve.last().x(), base) << QPointF(curve.first().x(), base);
    painter.setRenderHint(QPainter::Antialiasing, false); // a smooth edge takes three times as long
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(shape);
    painter.setRenderHint(QPainter::Antialiasing, true);
}

void paintDots(QPainter& painter, const QVector<QPointF>& centers, double radius, const QColor& color, bool hollow) {
    const double ratio = painter.device()->devicePixelRatioF();
    const QTransform& place = painter.deviceTransform();
    const bool raster = painter.paintEngine()->type() == QPaintEngine::Raster && place.m11() == ratio &&
                        place.m22() == ratio && place.m12() == 0 && place.m21() == 0;
    if (raster && centers.size() > 2 * kSteps * kSteps) {
        const DotStamps stamps(radius, color, hollow, ratio);
        for (const QPointF& center : centers) stamps.paint(painter, center, {place.dx(), place.dy()});
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(hollow ? QPen(color, kRing) : QPen(Qt::NoPen));
    painter.setBrush(hollow ? QBrush(Qt::NoBrush) : QBrush(color));
    for (const QPointF& center : centers) painter.drawEllipse(center, radius, radius);
}

} // namespace qs::gui
