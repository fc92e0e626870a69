// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shapes that Qt Charts draws slowly: areas under curves, and dots.

#include <QColor>
#include <QPointF>
#include <QVector>

class QPainter;

namespace qs::gui {

/// Fills the area between a curve (pixels, ascending x) and a base line, without a smooth edge: the curve covers it.
void paintUnder(QPainter& painter, const QVector<QPointF>& curve, double base, const QColor& color);

/// Draws a line along an axis with the painter's pen, aligned to device pixels: equally wide everywhere, also at 125 %.
void drawStraight(QPainter& painter, QPointF from, QPointF to);

/// Paints a disk or a ring around each point.
void paintDots(QPainter& painter, const QVector<QPointF>& centers, double radius, const QColor& color, bool hollow);

} // namespace qs::gui
