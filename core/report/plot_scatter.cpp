// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/plot_style.h"
#include "core/report/series_palette.h"
#include "core/report/writers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::array<std::array<const char*, 2>, 12> kColours = {{{"#1560CC", "#5AA9FF"},
                                                                  {"#B05414", "#F0A35E"},
                                                                  {"#0B7A5C", "#58C9A5"},
                                                                  {"#9747A8", "#D08BD8"},
                                                                  {"#C2255C", "#FF7A99"},
                                                                  {"#5C7A00", "#B5CC4A"},
                                                                  {"#0E7490", "#4CC7E0"},
                                                                  {"#6741D9", "#A594FF"},
                                                                  {"#8A5F00", "#E0BE5A"},
                                                                  {"#566173", "#C0C7D1"},
                                                                  {"#2B8A3E", "#7BD66B"},
                                                                  {"#D9480F", "#FF9F80"}}};

std::string style() {
    std::string light, dark;
    for (std::size_t i = 0; i < kColours.size(); ++i) {
        light += fmt::format(".qs .c{0}{{fill:{1}}}.qs .t{0}{{stroke:{1}}}", i, kColours[i][0]);
        dark += fmt::format(".qs .c{0}{{fill:{1}}}.qs .t{0}{{stroke:{1}}}", i, kColours[i][1]);
    }
    return "<style>" + light +
           ".qs .thin{fill:none;stroke-width:1;stroke-opacity:.45}"
           ".qs .guide{fill:none;stroke:#566173;stroke-width:1;stroke-opacity:.7}.qs .dash{stroke-dasharray:3 3}"
           ".qs .front{fill:none;stroke:#18202B;stroke-width:1.8;stroke-opacity:.75;stroke-linejoin:round}"
           "@media screen and (prefers-color-scheme:dark){" +
           dark + ".qs .guide{stroke:#9AA5B5}.qs .front{stroke:#E7EBF1}}</style>";
}

std::string markAt(std::size_t series, double x, double y, double r, const std::string& note) {
    std::string d;
    switch (seriesMark(series)) {
    case SeriesMark::Disk:
        d = fmt::format("M{:.1f} {:.1f}a{r:.1f} {r:.1f} 0 1 0 {w:.1f} 0a{r:.1f} {r:.1f} 0 1 0 -{w:.1f} 0Z", x - r, y,
                        fmt::arg("r", r), fmt::arg("w", 2 * r));
        break;
    case SeriesMark::Square: {
        const double s = 0.88 * r;
        d = fmt::format("M{:.1f} {:.1f}h{w:.1f}v{w:.1f}h-{w:.1f}Z", x - s, y - s, fmt::arg("w", 2 * s));
        break;
    }
    case SeriesMark::Diamond: {
        const double s = 1.25 * r;
        d = fmt::format("M{:.1f} {:.1f}l{s:.1f} {s:.1f}l-{s:.1f} {s:.1f}l-{s:.1f} -{s:.1f}Z", x, y - s,
                        fmt::arg("s", s));
        break;
    }
    case SeriesMark::Triangle: {
        const double s = 1.2 * r;
        d = fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}h-{:.1f}Z", x, y - s, s, 1.8 * s, 2 * s);
        break;
    }
    }
    return fmt::format("<path class=\"c{}\" d=\"{}\">{}</path>", series % kColours.size(), d,
                       note.empty() ? "" : "<title>" + xmlEscaped(note) + "</title>");
}

/// Lays out the legend in rows and returns their number. Appends its SVG to `out` if that is not null.
int legend(const Plot& plot, double left, double right, double top, std::string* out) {
    double x = left;
    int row = 0;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const std::string name = fitted(plot.series[i].name, 32);
        const double width = 14 + monoWidth(name) + 14;
        if (x > left && x + width > right) x = left, ++row;
        if (out) {
            const double y = top + 15.0 * row;
            *out += markAt(i, x + 4, y, 3.2, {}) + svgText(x + 12, y + 3.5, "", name);
        }
        x += width;
    }
    return plot.series.empty() ? 0 : row + 1;
}

/// Ticks at whole powers of the base; only every k-th if there are many.
Ticks exponentTicks(double low, double high, int base) {
    Ticks ticks;
    ticks.low = std::floor(low + 1e-9), ticks.high = std::max(ticks.low + 1, std::ceil(high - 1e-9));
    const double step = std::max(1.0, std::ceil((ticks.high - ticks.low) / 8));
    for (double at = ticks.low; at <= ticks.high; at += step) {
        ticks.values.push_back(at);
        ticks.labels.push_back(fmt::format("{:g}", std::pow(base, at)));
    }
    return ticks;
}

struct ScatterFrame {
    Ticks x, y;
    double left = 0, right = 0, top = 0, bottom = 0;
    bool logY = false;
    double px(double v) const { return left + (v - x.low) / (x.high - x.low) * (right - left); }
    double py(double v) const {
        const double part = logY ? std::log(v / y.low) / std::log(y.high / y.low) : (v - y.low) / (y.high - y.low);
        return bottom - part * (bottom - top);
    }
    bool drawn(double vx, double vy) const {
        return std::isfinite(vx) && std::isfinite(vy) && (!logY || vy >= y.low * (1 - 1e-12));
    }
    std::string path(const Plot::Series& s) const {
        std::string d;
        for (std::size_t i = 0; i < s.x.size() && i < s.y.size(); ++i)
            if (drawn(s.x[i], s.y[i]))
                d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? 'M' : 'L', px(s.x[i]), py(s.y[i]));
        return d;
    }
};

/// Draws the guides with their names at the right end, above the line. Names that would overlap are placed side by
/// side.
std::string guides(const ScatterFrame& f, const Plot& plot) {
    std::string out;
    double takenLeft = INFINITY, takenY = -INFINITY;
    for (const auto& s : plot.guides) {
        if (s.x.empty() || s.y.empty()) continue;
        out += fmt::format("<path class=\"guide\" d=\"{}\"/>", f.path(s));
        const double y = f.py(s.y.back()) - 3;
        double right = f.right;
        if (std::fabs(y - takenY) < 12) right = takenLeft - 8;
        out += svgText(right, y, "e", s.name);
        takenLeft = right - monoWidth(s.name), takenY = y;
    }
    return out;
}

/// Draws dashed vertical lines with names at the top: right of the line, or left of it if there is no space. A name
/// that would overlap is left out.
std::string dividers(const ScatterFrame& f, const Plot& plot) {
    std::string out;
    double free = -INFINITY;
    for (std::size_t i = 0; i < plot.verticals.size(); ++i) {
        const double x = f.px(plot.verticals[i]);
        const std::string label = i < plot.verticalLabels.size() ? plot.verticalLabels[i] : std::string();
        out += fmt::format("<path class=\"guide dash\" d=\"M{:.1f} {:.1f}V{:.1f}\"><title>{}</title></path>", x,
                           f.top - 10, f.bottom, xmlEscaped(label));
        const double wide = monoWidth(label);
        const bool after = x + 4 + wide <= f.right + 8;
        const double from = after ? x + 4 : x - 4 - wide;
        if (from < free) continue;
        out += svgText(from, f.top - 3, "", label);
        free = from + wide + 8;
    }
    return out;
}

} // namespace

const char* seriesColour(std::size_t series, bool dark) { return kColours[series % kColours.size()][dark ? 1 : 0]; }
SeriesMark seriesMark(std::size_t series) { return SeriesMark((series + series / kColours.size()) % 4); }

std::string scatterSvg(const Plot& plot, int width, int height) {
    double lowX = INFINITY, highX = -INFINITY, lowY = INFINITY, highY = -INFINITY;
    const auto extend = [&](const std::vector<Plot::Series>& list) {
        for (const auto& s : list)
            for (std::size_t i = 0; i < s.x.size() && i < s.y.size(); ++i) {
                if (!std::isfinite(s.x[i]) || !std::isfinite(s.y[i]) || (plot.logY && s.y[i] <= 0)) continue;
                lowX = std::min(lowX, s.x[i]), highX = std::max(highX, s.x[i]);
                lowY = std::min(lowY, s.y[i]), highY = std::max(highY, s.y[i]);
            }
    };
    extend(plot.series);
    const bool empty = !(lowX <= highX);
    extend(plot.guides);
    if (std::isfinite(plot.sharedX.low)) lowX = plot.sharedX.low, highX = plot.sharedX.high;
    if (std::isfinite(plot.sharedY.low)) lowY = plot.sharedY.low, highY = plot.sharedY.high;
    const int rows = plot.legend ? legend(plot, 0, width - 12, 0, nullptr) : 0;
    const double whole = height + 15.0 * rows;
    std::string out = svgOpen(plot, width, whole);
    if (empty) return out + svgText(width / 2.0, height / 2.0, "w m", "Nothing was measured.") + "</svg>";
    out += style();
    ScatterFrame f;
    f.logY = plot.logY;
    f.x = plot.xPowers ? exponentTicks(lowX, highX, plot.xPowers) : roundTicks(lowX, highX);
    f.y = plot.logY ? powerTicks(lowY, highY) : roundTicks(lowY, highY);
    double labels = 0;
    for (const auto& label : f.y.labels) labels = std::max(labels, monoWidth(label));
    f.left = labels + 10, f.right = width - 12, f.top = plot.verticals.empty() ? 24 : 38, f.bottom = height - 38;
    for (std::size_t i = 0; i < f.y.values.size(); ++i) {
        out += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", f.left, f.py(f.y.values[i]), f.right);
        out += svgText(f.left - 6, f.py(f.y.values[i]) + 3.5, "e", f.y.labels[i]);
    }
    for (std::size_t i = 0; i < f.x.values.size(); ++i) {
        out += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}v4\"/>", f.px(f.x.values[i]), f.bottom);
        out += svgText(f.px(f.x.values[i]), f.bottom + 15, "m", f.x.labels[i]);
    }
    out += svgText(f.right, f.bottom + 31, "w e", plot.xTitle) + svgText(0, 11, "w", plot.yTitle);
    out += guides(f, plot) + dividers(f, plot);
    for (std::size_t i = 0; i < plot.series.size() && plot.joined; ++i)
        if (plot.series[i].x.size() > 1)
            out += fmt::format("<path class=\"thin t{}\" d=\"{}\"/>", i % kColours.size(), f.path(plot.series[i]));
    if (!plot.frontier.x.empty()) out += fmt::format("<path class=\"front\" d=\"{}\"/>", f.path(plot.frontier));
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const auto& s = plot.series[i];
        for (std::size_t k = 0; k < s.x.size() && k < s.y.size(); ++k)
            if (f.drawn(s.x[k], s.y[k]))
                out += markAt(i, f.px(s.x[k]), f.py(s.y[k]), k < s.radii.size() ? s.radii[k] : 3.2,
                              k < s.notes.size() ? s.notes[k] : s.name);
    }
    if (plot.legend) legend(plot, 0, width - 12, height + 6, &out);
    return out + "</svg>";
}

} // namespace qs
