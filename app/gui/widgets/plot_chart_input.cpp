// SPDX-License-Identifier: GPL-3.0-or-later
// Handles mouse, wheel and keys of a PlotChart.
#include "app/gui/widgets/plot_chart_view.h"

#include <QApplication>
#include <QFocusEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

constexpr double kOutside = std::numeric_limits<double>::quiet_NaN();

constexpr double kGrip = 6; // pixels around a marker in which the mouse takes it

} // namespace

int PlotChart::Private::handleAt(QPointF at) const {
    if (!frame.area().contains(at)) return -1;
    int nearest = -1;
    double distance = kGrip;
    for (const PlotMarker& marker : markers) {
        const double away = marker.handle < 0 ? kGrip : std::abs(frame.pixelX(marker.x) - at.x());
        if (away < distance) distance = away, nearest = marker.handle;
    }
    return nearest;
}

bool PlotChart::eventFilter(QObject* object, QEvent* event) {
    PlotFrame& frame = d->frame;
    switch (event->type()) {
    case QEvent::MouseMove: {
        const QPointF at = static_cast<QMouseEvent*>(event)->position();
        if (d->handle >= 0) {
            const double x = frame.valueX(at.x());
            Q_EMIT markerMoved(d->handle, x);
            showCrosshair(x);
            return true;
        }
        d->view->viewport()->setCursor(!d->pressed && d->handleAt(at) >= 0 ? Qt::SizeHorCursor : Qt::ArrowCursor);
        if (d->pressed && !d->dragging)
            d->dragging = (at - d->pressedAt).manhattanLength() >= QApplication::startDragDistance();
        if (d->dragging) {
            const double dx = frame.valueX(d->lastAt.x()) - frame.valueX(at.x());
            const double dy = frame.valueY(d->lastAt.y()) - frame.valueY(at.y());
            frame.x = panned(frame.x, dx, d->homeX);
            frame.y = panned(frame.y, dy, d->homeY);
            d->lastAt = at;
            d->viewMoved(*this);
            return true;
        }
        const bool inside = frame.area().adjusted(-2, -2, 2, 2).contains(at);
        showCrosshair(inside ? frame.valueX(at.x()) : kOutside);
        Q_EMIT hovered(d->crosshairX);
        return true;
    }
    case QEvent::MouseButtonPress: {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (mouse->button() != Qt::LeftButton) return false;
        d->handle = d->handleAt(mouse->position());
        d->pressed = d->handle < 0;
        d->dragging = false;
        d->pressedAt = d->lastAt = mouse->position();
        return false; // a click also sets the focus
    }
    case QEvent::MouseButtonRelease: {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (mouse->button() != Qt::LeftButton) return false;
        const bool click = d->pressed && !d->dragging && frame.area().contains(mouse->position());
        d->pressed = d->dragging = false;
        d->handle = -1;
        const double y = frame.valueY(mouse->position().y());
        if (click) Q_EMIT clicked(frame.valueX(mouse->position().x()), frame.logY ? std::pow(10.0, y) : y);
        return true;
    }
    case QEvent::MouseButtonDblClick: resetView(); return true;
    case QEvent::Leave:
        showCrosshair(kOutside);
        Q_EMIT hovered(kOutside);
        return false;
    case QEvent::Wheel: {
        auto* wheel = static_cast<QWheelEvent*>(event);
        const QPoint angle = wheel->angleDelta();
        const int turn = angle.y() != 0 ? angle.y() : angle.x();
        if (turn == 0 || d->series.isEmpty()) return false;
        const double factor = std::pow(0.8, turn / 120.0);
        if (wheel->modifiers() & Qt::ShiftModifier) // zooms the y axis only
            frame.y = zoomed(frame.y, frame.valueY(wheel->position().y()), factor, d->homeY);
        else
            frame.x = zoomed(frame.x, frame.valueX(wheel->position().x()), factor, d->homeX);
        d->viewMoved(*this);
        wheel->accept();
        return true;
    }
    default: return QWidget::eventFilter(object, event);
    }
}

void PlotChart::keyPressEvent(QKeyEvent* event) {
    PlotFrame& frame = d->frame;
    if (event->key() == Qt::Key_C && event->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier)) return copyAll();
    const double middle = std::isnan(d->crosshairX) ? (frame.x.lo + frame.x.hi) / 2 : d->crosshairX;
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_Minus:
        frame.x = zoomed(frame.x, middle, event->key() == Qt::Key_Minus ? 1.25 : 0.8, d->homeX);
        return d->viewMoved(*this);
    case Qt::Key_0:
    case Qt::Key_Home: return resetView();
    case Qt::Key_Left:
    case Qt::Key_Right: {
        // The crosshair moves from point to point, so that every value can be read without a mouse.
        if (d->series.isEmpty() || d->series.first().points.isEmpty()) break;
        const auto& points = d->series.first().points;
        const int step = event->key() == Qt::Key_Left ? -1 : 1;
        const int from = nearestPoint(points, middle);
        const int to = std::isnan(d->crosshairX) ? from : std::clamp(from + step, 0, int(points.size()) - 1);
        showCrosshair(points[to].x());
        Q_EMIT hovered(d->crosshairX);
        return;
    }
    case Qt::Key_Escape:
        if (std::isnan(d->crosshairX)) break;
        showCrosshair(kOutside);
        Q_EMIT hovered(kOutside);
        return;
    default: break;
    }
    QWidget::keyPressEvent(event);
}

void PlotChart::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    const Qt::FocusReason reason = event->reason();
    d->keyboardFocus =
        reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason || reason == Qt::ShortcutFocusReason;
    d->view->viewport()->update();
}

void PlotChart::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    d->keyboardFocus = false;
    d->view->viewport()->update();
}

} // namespace qs::gui
