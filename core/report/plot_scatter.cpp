// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
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
           ".qs .front{fill:none;stroke:#18202B;stroke-width:1.8;stroke-opacity:.75;stroke-linejoin:round}"
           "@media screen and (prefers-color-scheme:dark){" +
           dark + ".qs .front{stroke:#E7EBF1}}</style>";
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

/// Rows of marks with names; their number, and the text when `out` is given.
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

} // namespace

const char* seriesColour(std::size_t series, bool dark) { return kColours[series % kColours.size()][dark ? 1 : 0]; }
SeriesMark seriesMark(std::size_t series) { return SeriesMark((series + series / kColours.size()) % 4); }

std::string scatterSvg(const Plot& plot, int width, int height) {
    double lowX = INFINITY, highX = -INFINITY, lowY = INFINITY, highY = -INFINITY;
    for (const auto& s : plot.series) {
        for (std::size_t i = 0; i < s.x.size() && i < s.y.size(); ++i) {
            if (!std::isfinite(s.x[i]) || !std::isfinite(s.y[i])) continue;
            lowX = std::min(lowX, s.x[i]), highX = std::max(highX, s.x[i]);
            lowY = std::min(lowY, s.y[i]), highY = std::max(highY, s.y[i]);
        }
    }
    const bool empty = !(lowX <= highX);
    if (std::isfinite(plot.sharedX.low)) lowX = plot.sharedX.low, highX = plot.sharedX.high;
    if (std::isfinite(plot.sharedY.low)) lowY = plot.sharedY.low, highY = plot.sharedY.high;
    const int rows = plot.legend ? legend(plot, 0, width - 12, 0, nullptr) : 0;
    const double whole = height + 15.0 * rows;
    std::string out = svgOpen(plot, width, whole);
    if (empty) return out + svgText(width / 2.0, height / 2.0, "w m", "Nothing was measured.") + "</svg>";
    out += style();
    const Ticks x = roundTicks(lowX, highX), y = roundTicks(lowY, highY);
    double labels = 0;
    for (const auto& label : y.labels) labels = std::max(labels, monoWidth(label));
    const double left = labels + 10, right = width - 12, top = 24, bottom = height - 38;
    const auto px = [&](double v) { return left + (v - x.low) / (x.high - x.low) * (right - left); };
    const auto py = [&](double v) { return bottom - (v - y.low) / (y.high - y.low) * (bottom - top); };
    for (std::size_t i = 0; i < y.values.size(); ++i) {
        out += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", left, py(y.values[i]), right);
        out += svgText(left - 6, py(y.values[i]) + 3.5, "e", y.labels[i]);
    }
    for (std::size_t i = 0; i < x.values.size(); ++i) {
        out += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}v4\"/>", px(x.values[i]), bottom);
        out += svgText(px(x.values[i]), bottom + 15, "m", x.labels[i]);
    }
    out += svgText(right, bottom + 31, "w e", plot.xTitle) + svgText(0, 11, "w", plot.yTitle);
    const auto path = [&](const Plot::Series& s) {
        std::string d;
        for (std::size_t i = 0; i < s.x.size() && i < s.y.size(); ++i)
            if (std::isfinite(s.x[i]) && std::isfinite(s.y[i]))
                d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? 'M' : 'L', px(s.x[i]), py(s.y[i]));
        return d;
    };
    for (std::size_t i = 0; i < plot.series.size(); ++i)
        if (plot.series[i].x.size() > 1)
            out += fmt::format("<path class=\"thin t{}\" d=\"{}\"/>", i % kColours.size(), path(plot.series[i]));
    if (!plot.frontier.x.empty()) out += fmt::format("<path class=\"front\" d=\"{}\"/>", path(plot.frontier));
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const auto& s = plot.series[i];
        for (std::size_t k = 0; k < s.x.size() && k < s.y.size(); ++k)
            if (std::isfinite(s.x[k]) && std::isfinite(s.y[k]))
                out += markAt(i, px(s.x[k]), py(s.y[k]), 3.2, k < s.notes.size() ? s.notes[k] : s.name);
    }
    if (plot.legend) legend(plot, 0, width - 12, height + 6, &out);
    return out + "</svg>";
}

} // namespace qs
