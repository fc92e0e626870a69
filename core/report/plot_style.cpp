// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/plot_style.h"

#include "core/base/text.h"
#include "core/report/writers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

// The colours of the window. librsvg ignores the media query, so print and PDF are light.
constexpr const char* kStyle =
    ".qs text{font:10px 'JetBrains Mono','DejaVu Sans Mono',monospace;fill:#566173}"
    ".qs .w{font-family:Inter,'DejaVu Sans',sans-serif;font-size:11px}"
    ".qs .e{text-anchor:end}.qs .m{text-anchor:middle}"
    ".qs .v{fill:#18202B}.qs .on{fill:#FFFFFF}.qs .off{fill:#18202B}"
    ".qs .g{stroke:#DBE0E8;stroke-width:1;fill:none}"
    ".qs .l{stroke:#B05414;stroke-width:1;fill:none}.qs .lt{fill:#B05414}"
    ".qs .f0{fill:#1560CC}.qs .f1{fill:#B05414}.qs .f2{fill:#0B7A5C}.qs .f3{fill:#9747A8}"
    ".qs .s0{stroke:#1560CC}.qs .s1{stroke:#B05414}.qs .s2{stroke:#0B7A5C}.qs .s3{stroke:#9747A8}"
    ".qs .line{fill:none;stroke-width:1.3;stroke-linejoin:round}.qs .area{fill-opacity:.3}.qs .bar{fill-opacity:.85}"
    ".qs .none{fill:#EDF0F5}.qs .hatch{stroke:#8A5F00;stroke-width:1}"
    "@media screen and (prefers-color-scheme:dark){"
    ".qs text{fill:#9AA5B5}.qs .v{fill:#E7EBF1}.qs .on{fill:#FFFFFF}.qs .off{fill:#14171C}.qs .g{stroke:#2C333F}"
    ".qs .l{stroke:#F0A35E}.qs .lt{fill:#F0A35E}"
    ".qs .f0{fill:#5AA9FF}.qs .f1{fill:#F0A35E}.qs .f2{fill:#58C9A5}.qs .f3{fill:#D08BD8}"
    ".qs .s0{stroke:#5AA9FF}.qs .s1{stroke:#F0A35E}.qs .s2{stroke:#58C9A5}.qs .s3{stroke:#D08BD8}"
    ".qs .none{fill:#232933}.qs .hatch{stroke:#F0C75E}}";

constexpr std::array<std::array<int, 3>, 10> kViridis = {{{0x44, 0x01, 0x54},
                                                          {0x48, 0x28, 0x78},
                                                          {0x3e, 0x49, 0x89},
                                                          {0x31, 0x68, 0x8e},
                                                          {0x26, 0x82, 0x8e},
                                                          {0x1f, 0x9e, 0x89},
                                                          {0x35, 0xb7, 0x79},
                                                          {0x6e, 0xce, 0x58},
                                                          {0xb5, 0xde, 0x2b},
                                                          {0xfd, 0xe7, 0x25}}};

std::string tickText(double value, double step) {
    if (value == 0) return "0";
    const double magnitude = std::fabs(value);
    if (magnitude >= 1e6 || magnitude < 1e-4) {
        std::string text = fmt::format("{:.1e}", value);
        if (const auto zero = text.find(".0e"); zero != std::string::npos) text.erase(zero, 2);
        return text;
    }
    const int decimals = std::clamp(int(std::ceil(-std::log10(step) - 1e-9)), 0, 8);
    // A step of 2.5 x 10^k needs one digit more than 10^k.
    const double scaled = step * std::pow(10, decimals);
    return fmt::format("{:.{}f}", value, std::fabs(scaled - std::round(scaled)) > 1e-6 ? decimals + 1 : decimals);
}

} // namespace

Ticks roundTicks(double low, double high, int most, bool widen) {
    Ticks ticks;
    if (!(std::isfinite(low) && std::isfinite(high))) low = 0, high = 1;
    if (high < low) std::swap(low, high);
    if (high == low) {
        const double pad = low == 0 ? 1 : std::fabs(low) * 0.1;
        low -= low == 0 ? 0 : pad, high += pad;
    }
    const double power = std::pow(10, std::floor(std::log10((high - low) / most)) - 1);
    double step = power;
    for (const double candidate : {1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0, 200.0}) {
        step = candidate * power;
        const double first = widen ? std::floor(low / step) : std::ceil(low / step - 1e-9);
        const double last = widen ? std::ceil(high / step) : std::floor(high / step + 1e-9);
        if (last - first + 1 <= most) break;
    }
    if (widen) low = std::floor(low / step + 1e-9) * step, high = std::ceil(high / step - 1e-9) * step;
    ticks.low = low, ticks.high = high;
    for (double i = std::ceil(low / step - 1e-9); i <= std::floor(high / step + 1e-9); ++i) {
        ticks.values.push_back(i * step);
        ticks.labels.push_back(tickText(i * step, step));
    }
    return ticks;
}

Ticks powerTicks(double low, double high, int most) {
    Ticks ticks;
    if (!(low > 0) || !std::isfinite(low)) low = 1;
    if (!(high >= low) || !std::isfinite(high)) high = low;
    const int first = int(std::floor(std::log10(low))), last = std::max(first + 1, int(std::ceil(std::log10(high))));
    ticks.low = std::pow(10, first), ticks.high = std::pow(10, last);
    const int step =
        std::max(1, (last - first) / std::max(1, most - 1) + ((last - first) % std::max(1, most - 1) ? 1 : 0));
    for (int e = first; e <= last; e += step) {
        ticks.values.push_back(std::pow(10, e));
        ticks.labels.push_back(e >= 0 && e < 5 ? fmt::format("{:.0f}", std::pow(10, e)) : fmt::format("1e{}", e));
    }
    return ticks;
}

Ticks symlogTicks(const SymlogAxis& axis, double low, double high, int most) {
    Ticks ticks;
    if (!(low < high)) low = -axis.linear, high = axis.linear;
    ticks.low = axis.place(low), ticks.high = axis.place(high);
    ticks.values = axis.ticks(ticks.low, ticks.high, most);
    for (const double value : ticks.values) ticks.labels.push_back(value == 0 ? "0" : fmt::format("{:g}", value));
    return ticks;
}

std::string viridis(double t) {
    t = std::isnan(t) ? 0 : std::clamp(t, 0.0, 1.0) * 9;
    const auto i = std::min<std::size_t>(8, std::size_t(t));
    const double f = t - double(i);
    int rgb[3];
    for (std::size_t k = 0; k < 3; ++k)
        rgb[k] = int(std::lround(kViridis[i][k] + f * (kViridis[i + 1][k] - kViridis[i][k])));
    return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

bool viridisIsDark(double t) { return t < 0.62; }

std::string diverging(double t) {
    static constexpr int kMiddle[] = {0xf4, 0xf4, 0xf2}, kBelow[] = {0x15, 0x60, 0xcc}, kAbove[] = {0xb0, 0x54, 0x14};
    t = std::isnan(t) ? 0 : std::clamp(t, -1.0, 1.0);
    const int* end = t < 0 ? kBelow : kAbove;
    int rgb[3];
    for (int k = 0; k < 3; ++k) rgb[k] = int(std::lround(kMiddle[k] + std::fabs(t) * (end[k] - kMiddle[k])));
    return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

std::string svgOpen(const Plot& plot, double width, double height) {
    std::string label = plot.title;
    if (!plot.yTitle.empty()) label += ": " + plot.yTitle;
    if (!plot.xTitle.empty()) label += " against " + plot.xTitle;
    label = xmlEscaped(escapeForPeople(label, 200));
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"qs\" role=\"img\" aria-label=\"{}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\"><style>{}</style>",
        label, width, height, width, height, kStyle);
}

std::string svgText(double x, double y, const char* cssClass, std::string_view text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>", x, y, cssClass, xmlEscaped(text));
}

double monoWidth(std::string_view text) {
    double characters = 0;
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return 6.05 * characters;
}

std::string fitted(std::string_view text, std::size_t chars) {
    return escapeForPeople(text, std::max<std::size_t>(4, chars));
}

} // namespace qs
