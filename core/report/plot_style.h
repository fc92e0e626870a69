// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What all plots share: ticks at round values, colours, and the style sheet inside each <svg>.

#include "core/report/report.h"

namespace qs {

/// The ticks of an axis.
struct Ticks {
    std::vector<double> values;
    std::vector<std::string> labels;
    double low = 0, high = 1; ///< limits of the axis
};
/// At most `most` ticks in [low, high], at multiples of 1, 2, 2.5 or 5 x 10^k. With `widen` the axis is widened to
/// whole steps. An empty range gets a width.
Ticks roundTicks(double low, double high, int most = 6, bool widen = true);
/// Ticks at powers of ten. `low` and `high` are positive.
Ticks powerTicks(double low, double high, int most = 6);

/// Ticks between two values. `low` and `high` of the result are places, see SymlogAxis.
Ticks symlogTicks(const SymlogAxis& axis, double low, double high, int most = 9);

/// The colour map viridis as "#rrggbb". t is in [0, 1].
std::string viridis(double t);
bool viridisIsDark(double t); ///< text on this colour must be light
/// A diverging colour map: blue below 0, white at 0, orange above. t is in [-1, 1].
std::string diverging(double t);

/// The opening <svg> tag with label and style. The caller writes "</svg>".
std::string svgOpen(const Plot& plot, double width, double height);
/// A <text> element at (x, y), in px.
std::string svgText(double x, double y, const char* cssClass, std::string_view text);
double monoWidth(std::string_view text); ///< width in px at 10 px font size
/// Shortens a text to `chars` characters (at least 4) by dropping its middle.
std::string fitted(std::string_view text, std::size_t chars);

/// The plots of kind HeatMap and Scatter as <svg>. Sizes are in px. A legend adds to the height.
std::string heatMapSvg(const Plot& plot, int width);
std::string scatterSvg(const Plot& plot, int width, int height);

} // namespace qs
