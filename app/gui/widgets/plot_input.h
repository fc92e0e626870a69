// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Mouse, wheel and keys of a PlotChart: crosshair, zoom, pan, dragging of markers, clicks.

#include <QObject>
#include <QPointF>

#include <functional>

class QKeyEvent;
class QWidget;

namespace qs::gui {

class PlotChart;
struct PlotContents;

class PlotInput : public QObject {
public:
    /// `moved` is called after the visible ranges of `plot` have changed. Signals are emitted for `chart`, which owns
    /// this object.
    PlotInput(PlotChart& chart, PlotContents& plot, QWidget& viewport, std::function<void()> moved);
    bool key(const QKeyEvent& event); ///< false: the key means nothing here

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    PlotChart& chart_;
    PlotContents& plot_;
    QWidget& viewport_;
    std::function<void()> moved_;
    // A drag pans only after the mouse has moved a little, so that a click stays a click.
    bool pressed_ = false, dragging_ = false;
    int handle_ = -1; ///< the marker that the mouse drags; -1: none
    QPointF pressedAt_, lastAt_;
};

} // namespace qs::gui
