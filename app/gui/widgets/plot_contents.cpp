// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_contents.h"

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr double kGrip = 6; // pixels around a marker in which the mouse takes it

PlotRange joined(PlotRange a, PlotRange b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

} // namespace

double PlotContents::plotY(double value) const { return frame.logY ? std::log10(value) : value; }
double PlotContents::valueOfY(double plot) const { return frame.logY ? std::pow(10.0, plot) : plot; }

void PlotContents::measureHome(const PlotContents* beside) {
    homeX = wantedX.value_or(gui::homeX(series, markers));
    homeY = gui::homeY(series, frame.logY);
    if (wantedY) homeY = *wantedY;
    if (wantedY && frame.logY) {
        const double top = std::log10(std::max(wantedY->hi, std::numeric_limits<double>::min()));
        homeY = {wantedY->lo > 0 ? std::log10(wantedY->lo) : gui::homeY(series, true).lo, top};
        if (!(homeY.lo < homeY.hi)) homeY = gui::homeY(series, true);
    }
    if (!beside || beside->series.isEmpty() || series.isEmpty()) return;
    if (!wantedX) homeX = joined(homeX, gui::homeX(beside->series, beside->markers));
    if (!wantedY) homeY = joined(homeY, gui::homeY(beside->series, frame.logY));
}

void PlotContents::showHome() {
    frame.x = homeX;
    frame.y = homeY;
}

int PlotContents::handleAt(QPointF at) const {
    if (!frame.area().contains(at)) return -1;
    int nearest = -1;
    double distance = kGrip;
    for (const PlotMarker& marker : markers) {
        const double away = marker.handle < 0 ? kGrip : std::abs(frame.pixelX(marker.x) - at.x());
        if (away < distance) distance = away, nearest = marker.handle;
    }
    return nearest;
}

void PlotContents::updateReadout() {
    readout = {};
    readout.x = crosshairX;
    readout.marker = -1;
    if (std::isnan(crosshairX)) return;
    const double pixel = frame.pixelX(crosshairX);
    double nearest = 4.5;
    for (int i = 0; i < markers.size(); ++i) {
        // A solid line takes precedence over a dashed one beside it: where both are dense, only solid ones are drawn.
        const double distance = std::abs(frame.pixelX(markers[i].x) - pixel) + (markers[i].dashed ? 1.5 : 0);
        if (distance < nearest && !markers[i].label.isEmpty()) {
            nearest = distance;
            readout.marker = i;
        }
    }
    if (readout.marker >= 0) {
        const PlotMarker& marker = markers[readout.marker];
        readout.lines.append({marker.token, marker.label});
    }
    const auto named = [](const PlotSeries& one) {
        return one.style != PlotSeries::Style::Band && one.naming == PlotSeries::Naming::Legend;
    };
    // Series of dots may have different x: the dot nearest to the mouse decides.
    double leading = crosshairX, distance = std::numeric_limits<double>::infinity();
    for (const PlotSeries& one : series) {
        if (!named(one)) continue;
        if (one.style != PlotSeries::Style::Dots) break;
        const int index = nearestPoint(one.points, crosshairX);
        if (index < 0 || std::abs(one.points[index].x() - crosshairX) >= distance) continue;
        leading = one.points[index].x();
        distance = std::abs(leading - crosshairX);
    }
    bool first = true;
    for (const PlotSeries& one : series) {
        if (!named(one)) continue;
        const int index = nearestPoint(one.points, leading);
        if (index < 0) continue;
        QPointF point = one.points[index];
        const bool measured = !one.notes.isEmpty();
        if (measured && (!first || one.style == PlotSeries::Style::Dots) &&
            std::abs(frame.pixelX(point.x()) - frame.pixelX(first ? leading : readout.x)) > 3)
            continue;
        if (!first && !measured && one.style == PlotSeries::Style::Line)
            point = {readout.x, valueAt(one.points, readout.x)};
        if (first) {
            readout.x = point.x();
            const QString x = readoutText(frame.shownX(point.x()));
            readout.lines.append({-1, frame.xTitle.isEmpty() ? x : frame.xTitle + u' ' + x});
            first = false;
        }
        QString text = (one.name.isEmpty() ? frame.yTitle : one.name) + u' ' + readoutText(point.y());
        if (index < one.notes.size()) text += QStringLiteral("  ") + one.notes[index];
        readout.lines.append({one.token, text});
        if (!std::isfinite(point.y()) || (frame.logY && point.y() <= 0)) continue;
        readout.points.append({one.token, {point.x(), plotY(point.y())}});
    }
}

} // namespace qs::gui
