// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the plots share: round ticks, colours, the style sheet inside each <svg>.

#include "core/report/report.h"

namespace qs {

struct Ticks {
    std::vector<double> values;
    std::vector<std::string> labels;
    double low = 0, high = 1; ///< the axis
};
/// At most `most` multiples of 1, 2, 2.5 or 5 x 10^k that lie inside [low, high]; the axis is widened to whole steps
/// when `widen`. Degenerate ranges get a width.
Ticks roundTicks(double low, double high, int most = 6, bool widen = true);
/// Powers of ten; `low` and `high` are positive.
Ticks powerTicks(double low, double high, int most = 6);

/// Between two values; `low` and `high` of the answer are places.
Ticks symlogTicks(const SymlogAxis& axis, double low, double high, int most = 9);

/// viridis, t in [0, 1], as "#rrggbb".
std::string viridis(double t);
bool viridisIsDark(double t); ///< so that text on it is light
/// Blue below, white at 0, orange above; t in [-1, 1].
std::string diverging(double t);

/// Opening <svg> tag with title and style; `</svg>` is the caller's.
std::string svgOpen(const Plot& plot, double width, double height);
std::string svgText(double x, double y, const char* cssClass, std::string_view text);
double monoWidth(std::string_view text); ///< of 10 px digits, in px
/// The middle elided so that it fits.
std::string fitted(std::string_view text, std::size_t chars);

std::string heatMapSvg(const Plot& plot, int width);
std::string scatterSvg(const Plot& plot, int width, int height);

} // namespace qs
