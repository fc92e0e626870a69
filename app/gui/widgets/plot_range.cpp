// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

PlotRange orUnit(PlotRange range) {
    if (!(range.lo <= range.hi)) return {0, 1};
    if (range.lo == range.hi) {
        const double air = range.lo == 0 ? 1 : std::abs(range.lo) * 0.5;
        return {range.lo - air, range.hi + air};
    }
    return range;
}

double spacing(const QVector<QPointF>& points) {
    double least = kInfinity;
    for (int i = 1; i < points.size(); ++i) {
        const double gap = points[i].x() - points[i - 1].x();
        if (gap > 0) least = std::min(least, gap);
    }
    return std::isfinite(least) ? least : 1;
}

} // namespace

PlotRange homeX(const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers) {
    PlotRange range{kInfinity, -kInfinity};
    for (const PlotSeries& one : series) {
        const bool own = one.naming == PlotSeries::Naming::Legend; // dots on a line fit in the range of the line
        const double air = one.style == PlotSeries::Style::Bars          ? spacing(one.points) / 2
                           : one.style == PlotSeries::Style::Dots && own ? spacing(one.points)
                                                                         : 0;
        for (const QPointF& point : one.points) {
            if (!std::isfinite(point.x())) continue;
            range.lo = std::min(range.lo, point.x() - air);
            range.hi = std::max(range.hi, point.x() + air);
        }
    }
    if (!(range.lo <= range.hi)) {
        for (const PlotMarker& marker : markers) {
            range.lo = std::min(range.lo, marker.x);
            range.hi = std::max(range.hi, marker.x);
        }
    }
    return orUnit(range);
}

PlotRange homeY(const QVector<PlotSeries>& series, bool logarithmic) {
    PlotRange range{kInfinity, -kInfinity};
    bool standing = false;
    for (const PlotSeries& one : series) {
        standing |= one.style == PlotSeries::Style::Area || one.style == PlotSeries::Style::Bars;
        for (const QPointF& point : one.points + one.lower) {
            const double y = point.y();
            if (!std::isfinite(y) || (logarithmic && y <= 0)) continue;
            range.lo = std::min(range.lo, y);
            range.hi = std::max(range.hi, y);
        }
    }
    if (logarithmic) {
        if (!(range.lo <= range.hi)) return {0, 1};
        range = {std::log10(range.lo), std::log10(range.hi)};
        const double air = std::max(0.05 * range.span(), 0.1);
        return {range.lo - air, range.hi + air};
    }
    if (standing && range.lo <= range.hi) range = {std::min(range.lo, 0.0), std::max(range.hi, 0.0)};
    range = orUnit(range);
    const double air = 0.05 * range.span();
    if (!(standing && range.lo == 0)) range.lo -= air;
    if (!(standing && range.hi == 0)) range.hi += air;
    return range;
}

PlotRange zoomed(PlotRange view, double about, double factor, PlotRange home) {
    const double least = std::max(home.span() * 1e-6, std::abs(about) * 1e-9);
    const double span = std::clamp(view.span() * factor, std::min(least, home.span()), home.span());
    const double at = view.span() > 0 ? (about - view.lo) / view.span() : 0.5;
    return panned({about - at * span, about + (1 - at) * span}, 0, home);
}

PlotRange panned(PlotRange view, double by, PlotRange home) {
    const double span = std::min(view.span(), home.span());
    const double lo = std::clamp(view.lo + by, home.lo, std::max(home.lo, home.hi - span));
    return {lo, span == home.span() ? home.hi : lo + span};
}

QVector<QPointF> outlineOf(const PlotSeries& series, bool logarithmic, double lowerEdge) {
    const auto place = [&](double y) {
        if (!logarithmic) return y;
        return y > 0 ? std::log10(y) : lowerEdge;
    };
    QVector<QPointF> out;
    if (series.style != PlotSeries::Style::Bars) {
        out.reserve(series.points.size());
        for (const QPointF& point : series.points) {
            if (std::isfinite(point.y())) out.append({point.x(), place(point.y())});
        }
        return out;
    }
    const double base = logarithmic ? lowerEdge : 0;
    const double width = spacing(series.points) * (series.points.size() <= 128 ? 0.8 : 1.0);
    const double from = series.barFrom * width, to = series.barTo * width;
    out.reserve(series.points.size() * 4);
    for (const QPointF& point : series.points) {
        if (!std::isfinite(point.y())) continue;
        const double y = place(point.y());
        out << QPointF(point.x() + from, base) << QPointF(point.x() + from, y) << QPointF(point.x() + to, y)
            << QPointF(point.x() + to, base);
    }
    return out;
}

QVector<QPointF> thinned(const QVector<QPointF>& points, const PlotRange& view, double pixels) {
    const double columns = std::floor(pixels);
    if (!(view.lo < view.hi) || columns < 1 || double(points.size()) <= 2 * columns) return points;
    const double width = (view.hi - view.lo) / columns;
    const auto columnOf = [&](const QPointF& point) { return std::floor((point.x() - view.lo) / width); };
    QVector<QPointF> out;
    out.reserve(int(std::min(2 * columns + 2, double(points.size()))));
    out.append(points.first());
    for (int begin = 1; begin + 1 < points.size();) {
        const double column = columnOf(points[begin]);
        int low = begin, high = begin, end = begin + 1;
        for (; end + 1 < points.size() && columnOf(points[end]) == column; ++end) {
            if (points[end].y() < points[low].y()) low = end;
            if (points[end].y() > points[high].y()) high = end;
        }
        out.append(points[std::min(low, high)]);
        if (low != high) out.append(points[std::max(low, high)]);
        begin = end;
    }
    out.append(points.last());
    return out;
}

int nearestPoint(const QVector<QPointF>& points, double x) {
    if (points.isEmpty() || std::isnan(x)) return -1;
    const auto after = std::lower_bound(points.begin(), points.end(), x,
                                        [](const QPointF& point, double value) { return point.x() < value; });
    if (after == points.end()) return int(points.size()) - 1;
    const int index = int(after - points.begin());
    if (index > 0 && x - points[index - 1].x() < points[index].x() - x) return index - 1;
    return index;
}

double valueAt(const QVector<QPointF>& points, double x) {
    const auto after = std::lower_bound(points.begin(), points.end(), x,
                                        [](const QPointF& point, double value) { return point.x() < value; });
    if (after == points.end()) return std::numeric_limits<double>::quiet_NaN();
    if (after->x() == x) return after->y();
    if (after == points.begin()) return std::numeric_limits<double>::quiet_NaN();
    const QPointF before = *(after - 1);
    return before.y() + (after->y() - before.y()) * (x - before.x()) / (after->x() - before.x());
}

} // namespace qs::gui
