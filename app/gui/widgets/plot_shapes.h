// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The shapes of a plot that Qt Charts would draw slowly: what lies under a curve, and dots.

#include <QColor>
#include <QPointF>
#include <QVector>

class QPainter;

namespace qs::gui {

/// Fills between a curve (pixels, ascending x) and a base line. Its edge is hard: the curve is drawn over it.
void paintUnder(QPainter& painter, const QVector<QPointF>& curve, double base, const QColor& color);

/// A line along an axis, with the painter's pen, on whole pixels of the device: as wide wherever it is, at 125 % too.
void drawStraight(QPainter& painter, QPointF from, QPointF to);

/// A disk around each point, or a ring.
void paintDots(QPainter& painter, const QVector<QPointF>& centers, double radius, const QColor& color, bool hollow);

} // namespace qs::gui
