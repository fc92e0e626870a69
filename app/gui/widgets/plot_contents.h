// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a chart shows: series, markers, the visible and the initial ranges, and the read-out at the crosshair. No widget.

#include "app/gui/widgets/plot_frame.h"

#include <limits>
#include <optional>

namespace qs::gui {

struct PlotContents {
    PlotFrame frame; ///< has the visible ranges
    QVector<PlotSeries> series;
    QVector<PlotMarker> markers;
    PlotRange homeX, homeY; ///< initial ranges in plot units
    std::optional<PlotRange> wantedX, wantedY;
    PlotReadout readout;
    double crosshairX = std::numeric_limits<double>::quiet_NaN();

    PlotContents() { readout.x = crosshairX; }
    bool isZoomed() const { return !(frame.x == homeX && frame.y == homeY); }
    /// Computes the initial ranges. `beside`: a linked chart, whose ranges are joined with these; may be null.
    void measureHome(const PlotContents* beside);
    void showHome(); ///< makes the initial ranges visible
    void updateReadout();
    int handleAt(QPointF at) const;     ///< the movable marker at a pixel, or -1
    double plotY(double value) const;   ///< value to plot unit
    double valueOfY(double plot) const; ///< plot unit to value
};

} // namespace qs::gui
