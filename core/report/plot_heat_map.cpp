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

std::string cellText(const Plot& plot, double v) {
    if (plot.logY && v < 0.095) return fmt::format("1/{:.0f}", 1 / v);
    return fixedText(v, plot.cellDecimals);
}

/// The position on the colour bar, from 0 to 1. Values beyond its ends have the colours of the ends.
double placeOf(const Plot& plot, double v, double low, double high) {
    if (plot.logY) v = std::log2(v), low = std::log2(low), high = std::log2(high);
    return high > low ? std::clamp((v - low) / (high - low), 0.0, 1.0) : 0.5;
}
/// The position in viridis. Its bright end means the worse values.
double brightness(const Plot& plot, double t) { return plot.lowIsGood ? t : 1 - t; }
std::string colourOf(const Plot& plot, double t) {
    return plot.logY ? diverging(2 * t - 1) : viridis(brightness(plot, t));
}
bool isDark(const Plot& plot, double t) {
    return plot.logY ? std::fabs(2 * t - 1) > 0.6 : viridisIsDark(brightness(plot, t));
}

/// The colour bar with its range and unit.
std::string scaleLegend(const Plot& plot, double low, double high, double right) {
    const std::string a = cellText(plot, low), b = cellText(plot, high);
    constexpr double bar = 120;
    const double x1 = right - monoWidth(b) - 6, x0 = x1 - bar;
    std::string out = svgText(right, 11, "e v", b);
    for (int i = 0; i < 40; ++i)
        out += fmt::format("<rect x=\"{:.2f}\" y=\"3\" width=\"{:.2f}\" height=\"9\" fill=\"{}\"/>", x0 + bar * i / 40,
                           bar / 40 + 0.3, colourOf(plot, (i + 0.5) / 40));
    out += svgText(x0 - 6, 11, "e v", a);
    return out + svgText(x0 - 14 - monoWidth(a), 11, "w e", plot.cellTitle);
}

std::string emptyCell(double x, double y, double w, double h, std::string_view tip) {
    std::string out = fmt::format(
        "<g><title>{}</title><rect class=\"none\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
        xmlEscaped(tip), x, y, w, h);
    for (double d = 4; d < w + h; d += 6) { // hatched: not measured
        const double xa = x + std::min(d, w), ya = y + std::max(0.0, d - w), xb = x + std::max(0.0, d - h),
                     yb = y + std::min(d, h);
        out += fmt::format("<path class=\"hatch\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", xa, ya, xb, yb);
    }
    return out + "</g>";
}

} // namespace

std::string heatMapSvg(const Plot& plot, int width) {
    const std::size_t rows = plot.rowLabels.size(), columns = plot.categories.size();
    double low = plot.cellLow, high = plot.cellHigh;
    double cellMin = INFINITY, cellMax = -INFINITY;
    bool missing = false;
    for (const double v : plot.cells) {
        if (std::isnan(v)) missing = true;
        if (std::isfinite(v)) cellMin = std::min(cellMin, v), cellMax = std::max(cellMax, v);
    }
    if (plot.logY && cellMin > 0) { // put 1 in the middle
        const double most = std::max({cellMax, 1 / cellMin, 1.01});
        cellMin = 1 / most, cellMax = most;
    }
    if (std::isnan(low)) low = cellMin;
    if (std::isnan(high)) high = cellMax;
    const bool measured = std::isfinite(low) && std::isfinite(high);

    double labels = 0;
    std::vector<std::string> names;
    for (const auto& label : plot.rowLabels) {
        names.push_back(nameWithin(escapeForPeople(label, 500), 28));
        labels = std::max(labels, monoWidth(names.back()));
    }
    const double left = labels + 10, top = 26, cellHeight = 20;
    // A few columns keep a readable width and do not stretch over the page.
    const double cellWidth = columns ? std::min(plot.logY ? 140.0 : 96.0, (width - left - 4) / double(columns)) : 0;
    const double bottom = top + cellHeight * double(rows);
    std::string out = svgOpen(plot, width, bottom + 36);
    out += svgText(0, 11, "w", plot.yTitle);
    if (measured) out += scaleLegend(plot, low, high, width);
    std::string remark = measured && !plot.logY ? "bright: worse" : "";
    if (missing) remark += (remark.empty() ? "hatched: " : "; hatched: ") + plot.emptyTitle;
    if (!remark.empty()) out += svgText(width, bottom + 31, "w e", remark);

    const auto text = [&](double v) { return cellText(plot, v); };
    const bool figures = measured && cellWidth >= std::max(monoWidth(text(low)), monoWidth(text(high))) + 6;
    for (std::size_t r = 0; r < rows; ++r) {
        const double y = top + cellHeight * double(r);
        out += svgText(left - 8, y + 13.5, "e v", names[r]);
        for (std::size_t c = 0; c < columns && r * columns + c < plot.cells.size(); ++c) {
            const double v = plot.cells[r * columns + c], x = left + cellWidth * double(c);
            const double gap = cellWidth > 8 ? 1 : 0;
            if (std::isinf(v)) continue;
            const std::string place = names[r] + ", " + plot.xTitle + " " + plot.categories[c] + ": ";
            if (std::isnan(v)) {
                out += emptyCell(x, y, cellWidth - gap, cellHeight - 1, place + plot.emptyTitle);
                continue;
            }
            const double t = placeOf(plot, v, low, high);
            out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
                               "fill=\"{}\"><title>{}</title></rect>",
                               x, y, cellWidth - gap, cellHeight - 1, colourOf(plot, t),
                               xmlEscaped(place + text(v) + " " + plot.cellTitle));
            if (figures)
                out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"m\" style=\"fill:{}\">{}</text>",
                                   x + cellWidth / 2 - gap / 2, y + 13.5, isDark(plot, t) ? "#FFFFFF" : "#14171C",
                                   text(v));
        }
    }
    double free = -INFINITY;
    for (std::size_t c = 0; c < columns; ++c) {
        // If cells show numbers, every column shows its name.
        const std::string name =
            figures ? fitted(plot.categories[c], std::size_t(std::max(4.0, (cellWidth - 4) / monoWidth("0"))))
                    : plot.categories[c];
        const double x = left + cellWidth * (double(c) + 0.5), half = monoWidth(name) / 2;
        if (x - half < free) continue;
        out += svgText(x, bottom + 14, "m", name);
        free = x + half + (figures ? 2 : 8);
    }
    return out + svgText(left, bottom + 31, "w", plot.xTitle) + "</svg>";
}

} // namespace qs
