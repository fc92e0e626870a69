// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/report/plot_style.h"
#include "core/report/writers.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

/// The plot area in px and the two axes. px() and py() convert values to px.
struct Frame {
    double left = 0, top = 0, right = 0, bottom = 0;
    Ticks x, y;
    bool logY = false;
    SymlogAxis symlogX; ///< if it is on, x.low and x.high are places
    double px(double v) const { return left + (symlogX.place(v) - x.low) / (x.high - x.low) * (right - left); }
    double py(double v) const {
        if (!logY) return bottom - (v - y.low) / (y.high - y.low) * (bottom - top);
        if (!(v > y.low)) return bottom;
        return bottom - std::log(v / y.low) / std::log(y.high / y.low) * (bottom - top);
    }
};

struct Range {
    double low = INFINITY, high = -INFINITY;
    void add(double v) {
        if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
    }
    bool empty() const { return high < low; }
};

double binWidth(const std::vector<double>& x) { return x.size() > 1 ? x[1] - x[0] : 1; }
int colorOf(const Plot& plot, std::size_t series) { return int(std::size_t(plot.color) + series) % 4; }

std::string axes(const Frame& f, const Plot& plot) {
    std::string out;
    for (std::size_t i = 0; i < f.y.values.size(); ++i) {
        const double y = f.py(f.y.values[i]);
        out += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", f.left, y, f.right);
        out += svgText(f.left - 6, y + 3.5, "e", f.y.labels[i]);
    }
    for (std::size_t i = 0; i < f.x.values.size(); ++i) {
        const double x = f.px(f.x.values[i]);
        out += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}v4\"/>", x, f.bottom);
        out += svgText(x, f.bottom + 15, "m", f.x.labels[i]);
    }
    out += svgText(f.right, f.bottom + 31, "w e", plot.xTitle);
    return out + svgText(0, 11, "w", plot.yTitle);
}

constexpr double kLegendRow = 14;
std::string seriesName(const Plot& plot, std::size_t i) { return fitted(plot.series[i].name, 40); }

/// Distributes the names of the legend to rows. The first row begins beside the title of the y axis.
std::vector<std::vector<std::size_t>> legendRows(const Plot& plot, double width) {
    std::vector<std::vector<std::size_t>> rows;
    if (plot.series.size() < 2) return rows;
    double room = 0;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const double wanted = monoWidth(seriesName(plot, i)) + 28;
        if (rows.empty() || (wanted > room && !rows.back().empty())) {
            room = width - (rows.empty() ? monoWidth(plot.yTitle) + 16 : 0);
            rows.emplace_back();
        }
        rows.back().push_back(i);
        room -= wanted;
    }
    return rows;
}

std::string legend(const Plot& plot, const std::vector<std::vector<std::size_t>>& rows, double right) {
    std::string out;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const double y = kLegendRow * double(row);
        double x = right;
        for (auto at = rows[row].rbegin(); at != rows[row].rend(); ++at) {
            const std::string name = seriesName(plot, *at);
            x -= monoWidth(name);
            out += svgText(x, y + 11, "", name);
            x -= 14;
            out += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"9\" height=\"9\" rx=\"2\"/>",
                               colorOf(plot, *at), x, y + 3);
            x -= 14;
        }
    }
    return out;
}

std::string verticals(const Frame& f, const Plot& plot) {
    std::string out;
    double free = -INFINITY;
    for (std::size_t i = 0; i < plot.verticals.size(); ++i) {
        const double v = plot.verticals[i];
        const double place = f.symlogX.place(v);
        if (!(place >= f.x.low && place <= f.x.high)) continue;
        const double x = f.px(v);
        const std::string label = i < plot.verticalLabels.size() ? plot.verticalLabels[i] : significantText(v);
        out += fmt::format("<path class=\"l\" d=\"M{:.1f} {:.1f}V{:.1f}\"><title>{}</title></path>", x, f.top, f.bottom,
                           xmlEscaped(label + ": " + significantText(v)));
        const double half = monoWidth(label) / 2;
        if (plot.verticalLabels.empty() || x - half < free) continue;
        out += svgText(x, f.top - 4, "m lt", label);
        free = x + half + 4;
    }
    return out;
}

std::string pathOf(const Frame& f, const Plot::Series& s, bool area) {
    std::string d;
    bool open = false;
    double lastX = 0;
    const auto close = [&] {
        if (area && open) d += fmt::format("L{:.1f} {:.1f}Z", lastX, f.bottom);
        open = false;
    };
    for (std::size_t i = 0; i < s.y.size() && i < s.x.size(); ++i) {
        if (!std::isfinite(s.y[i])) {
            close();
            continue;
        }
        const double x = f.px(s.x[i]), y = f.py(s.y[i]);
        if (!open)
            d += area ? fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x, f.bottom, x, y)
                      : fmt::format("M{:.1f} {:.1f}", x, y);
        else
            d += fmt::format("L{:.1f} {:.1f}", x, y);
        open = true;
        lastX = x;
    }
    close();
    return d;
}

std::string marks(const Frame& f, const Plot& plot) {
    std::string out;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const auto& s = plot.series[i];
        const int color = colorOf(plot, i);
        if (plot.kind == Plot::Kind::Bars) {
            const double width = binWidth(s.x);
            for (std::size_t k = 0; k < s.y.size() && k < s.x.size(); ++k) {
                if (!(s.y[k] > 0)) continue;
                const double x = f.px(s.x[k]), w = f.px(s.x[k] + width) - x, y = f.py(s.y[k]);
                const double gap = w > 4 ? 1 : 0;
                out += fmt::format("<rect class=\"bar f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                                   "height=\"{:.1f}\"><title>{}</title></rect>",
                                   color, x + gap / 2, y, std::max(0.5, w - gap), f.bottom - y,
                                   xmlEscaped(fmt::format("{} to {}: {}", significantText(s.x[k]),
                                                          significantText(s.x[k] + width), significantText(s.y[k]))));
            }
            continue;
        }
        if (plot.kind == Plot::Kind::Area)
            out += fmt::format("<path class=\"area f{}\" d=\"{}\"/>", color, pathOf(f, s, true));
        out += fmt::format("<path class=\"line s{}\" d=\"{}\"/>", color, pathOf(f, s, false));
    }
    return out;
}

/// Draws horizontal bars: categories on the left, and the value at the end of each bar. Names need this space.
std::string rankedBars(const Plot& plot, int width) {
    const auto& values = plot.series.empty() ? std::vector<double>{} : plot.series[0].y;
    const std::size_t count = std::min(values.size(), plot.categories.size());
    Range range;
    range.add(0);
    for (std::size_t i = 0; i < count; ++i) range.add(values[i]);
    std::vector<std::string> names;
    double names_width = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& name = plot.categories[i];
        names.push_back(plot.namesTensors ? nameWithin(escapeForPeople(name, 500), 46) : fitted(name, 46));
        names_width = std::max(names_width, monoWidth(names.back()));
    }
    constexpr double row = 18;
    const double top = plot.yTitle.empty() ? 4 : 22;
    Frame f;
    f.left = names_width + 10, f.right = width - 64, f.top = top, f.bottom = top + row * double(count) + 2;
    f.x = roundTicks(range.low, range.high);
    std::string out = svgOpen(plot, width, f.bottom + 38);
    out += svgText(0, 11, "w", plot.yTitle);
    for (std::size_t i = 0; i < f.x.values.size(); ++i) {
        const double x = f.px(f.x.values[i]);
        out += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", x, f.top, f.bottom);
        out += svgText(x, f.bottom + 14, "m", f.x.labels[i]);
    }
    out += svgText(f.right, f.bottom + 30, "w e", plot.xTitle);
    for (std::size_t i = 0; i < count; ++i) {
        const double y = top + row * double(i), x0 = f.px(0), x1 = f.px(values[i]);
        out += svgText(f.left - 8, y + 12.5, "e v", names[i]);
        if (!std::isfinite(values[i])) {
            out += svgText(f.left + 4, y + 12.5, "", "not measured");
            continue;
        }
        out += fmt::format("<rect class=\"bar f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"11\" "
                           "rx=\"1.5\"><title>{}</title></rect>",
                           plot.color % 4, std::min(x0, x1), y + 3, std::max(0.5, std::fabs(x1 - x0)),
                           xmlEscaped(escapeForPeople(plot.categories[i], 200) + ": " + significantText(values[i])));
        out += svgText(std::max(x0, x1) + 5, y + 12.5, "v", significantText(values[i]));
    }
    return out + "</svg>";
}

} // namespace

std::string plotSvg(const Plot& plot, int width, int height) {
    if (plot.kind == Plot::Kind::HeatMap) return heatMapSvg(plot, width);
    if (plot.kind == Plot::Kind::Bars && !plot.categories.empty()) return rankedBars(plot, width);
    if (plot.kind == Plot::Kind::Scatter) return scatterSvg(plot, width, height);

    const bool bars = plot.kind == Plot::Kind::Bars;
    Range xs, ys;
    if (!plot.logY && plot.kind != Plot::Kind::Lines) ys.add(0); // bars and areas must start at zero
    for (const auto& s : plot.series) {
        for (const double v : s.x) xs.add(v);
        if (bars && !s.x.empty()) xs.add(s.x.back() + binWidth(s.x));
        for (const double v : s.y)
            if (!plot.logY || v > 0) ys.add(v);
    }
    Frame f;
    f.logY = plot.logY;
    f.symlogX = plot.symlogX;
    f.x = f.symlogX.on() ? symlogTicks(f.symlogX, xs.low, xs.high) : roundTicks(xs.low, xs.high, 6, false);
    f.y = plot.logY ? powerTicks(ys.low, ys.high) : roundTicks(ys.low, ys.high);
    double labels = 0;
    for (const auto& label : f.y.labels) labels = std::max(labels, monoWidth(label));
    f.left = labels + 10, f.right = width - 12, f.bottom = height - 38;
    f.top = plot.verticalLabels.empty() ? 24 : 36;

    const auto names = legendRows(plot, f.right);
    f.top += kLegendRow * double(std::max<std::size_t>(1, names.size()) - 1);

    std::string out = svgOpen(plot, width, height);
    if (xs.empty() || ys.empty())
        return out + svgText(width / 2.0, height / 2.0, "w m", "Nothing was measured.") + "</svg>";
    return out + axes(f, plot) + legend(plot, names, f.right) + marks(f, plot) + verticals(f, plot) + "</svg>";
}

} // namespace qs
