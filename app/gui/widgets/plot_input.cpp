// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_input.h"

#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/plot_contents.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

constexpr double kOutside = std::numeric_limits<double>::quiet_NaN();

} // namespace

PlotInput::PlotInput(PlotChart& chart, PlotContents& plot, QWidget& viewport, std::function<void()> moved)
    : QObject(&chart), chart_(chart), plot_(plot), viewport_(viewport), moved_(std::move(moved)) {
    viewport.installEventFilter(this);
    viewport.setMouseTracking(true);
}

bool PlotInput::eventFilter(QObject* object, QEvent* event) {
    PlotFrame& frame = plot_.frame;
    switch (event->type()) {
    case QEvent::MouseMove: {
        const QPointF at = static_cast<QMouseEvent*>(event)->position();
        if (handle_ >= 0) {
            const double x = frame.valueX(at.x());
            Q_EMIT chart_.markerMoved(handle_, x);
            chart_.showCrosshair(x);
            return true;
        }
        viewport_.setCursor(!pressed_ && plot_.handleAt(at) >= 0 ? Qt::SizeHorCursor : Qt::ArrowCursor);
        if (pressed_ && !dragging_)
            dragging_ = (at - pressedAt_).manhattanLength() >= QApplication::startDragDistance();
        if (dragging_) {
            const double dx = frame.valueX(lastAt_.x()) - frame.valueX(at.x());
            const double dy = frame.valueY(lastAt_.y()) - frame.valueY(at.y());
            frame.x = panned(frame.x, dx, plot_.homeX);
            frame.y = panned(frame.y, dy, plot_.homeY);
            lastAt_ = at;
            moved_();
            return true;
        }
        const bool inside = frame.area().adjusted(-2, -2, 2, 2).contains(at);
        chart_.showCrosshair(inside ? frame.valueX(at.x()) : kOutside);
        Q_EMIT chart_.hovered(plot_.crosshairX);
        return true;
    }
    case QEvent::MouseButtonPress: {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (mouse->button() != Qt::LeftButton) return false;
        handle_ = plot_.handleAt(mouse->position());
        pressed_ = handle_ < 0;
        dragging_ = false;
        pressedAt_ = lastAt_ = mouse->position();
        return false; // a click also sets the focus
    }
    case QEvent::MouseButtonRelease: {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (mouse->button() != Qt::LeftButton) return false;
        const bool click = pressed_ && !dragging_ && frame.area().contains(mouse->position());
        pressed_ = dragging_ = false;
        handle_ = -1;
        const double y = frame.valueY(mouse->position().y());
        if (click) Q_EMIT chart_.clicked(frame.valueX(mouse->position().x()), plot_.valueOfY(y));
        return true;
    }
    case QEvent::MouseButtonDblClick: chart_.resetView(); return true;
    case QEvent::Leave:
        chart_.showCrosshair(kOutside);
        Q_EMIT chart_.hovered(kOutside);
        return false;
    case QEvent::Wheel: {
        auto* wheel = static_cast<QWheelEvent*>(event);
        const QPoint angle = wheel->angleDelta();
        const int turn = angle.y() != 0 ? angle.y() : angle.x();
        if (turn == 0 || plot_.series.isEmpty()) return false;
        const double factor = std::pow(0.8, turn / 120.0);
        if (wheel->modifiers() & Qt::ShiftModifier) // zooms the y axis only
            frame.y = zoomed(frame.y, frame.valueY(wheel->position().y()), factor, plot_.homeY);
        else
            frame.x = zoomed(frame.x, frame.valueX(wheel->position().x()), factor, plot_.homeX);
        moved_();
        wheel->accept();
        return true;
    }
    default: return QObject::eventFilter(object, event);
    }
}

bool PlotInput::key(const QKeyEvent& event) {
    PlotFrame& frame = plot_.frame;
    if (event.key() == Qt::Key_C && event.modifiers() == (Qt::ControlModifier | Qt::ShiftModifier)) {
        chart_.copyAll();
        return true;
    }
    const double middle = std::isnan(plot_.crosshairX) ? (frame.x.lo + frame.x.hi) / 2 : plot_.crosshairX;
    switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_Minus:
        frame.x = zoomed(frame.x, middle, event.key() == Qt::Key_Minus ? 1.25 : 0.8, plot_.homeX);
        moved_();
        return true;
    case Qt::Key_0:
    case Qt::Key_Home: chart_.resetView(); return true;
    case Qt::Key_Left:
    case Qt::Key_Right: {
        // The crosshair moves from point to point, so that every value can be read without a mouse.
        if (plot_.series.isEmpty() || plot_.series.first().points.isEmpty()) return false;
        const auto& points = plot_.series.first().points;
        const int step = event.key() == Qt::Key_Left ? -1 : 1;
        const int from = nearestPoint(points, middle);
        const int to = std::isnan(plot_.crosshairX) ? from : std::clamp(from + step, 0, int(points.size()) - 1);
        chart_.showCrosshair(points[to].x());
        Q_EMIT chart_.hovered(plot_.crosshairX);
        return true;
    }
    case Qt::Key_Escape:
        if (std::isnan(plot_.crosshairX)) return false;
        chart_.showCrosshair(kOutside);
        Q_EMIT chart_.hovered(kOutside);
        return true;
    default: return false;
    }
}

} // namespace qs::gui
