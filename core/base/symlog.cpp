// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/symlog.h"

#include <algorithm>
#include <cmath>

namespace qs {

double SymlogAxis::place(double value) const {
    return on() ? std::copysign(std::log10(1 + std::fabs(value) / linear), value) : value;
}

double SymlogAxis::value(double place) const {
    return on() ? std::copysign(linear * (std::pow(10, std::fabs(place)) - 1), place) : place;
}

std::vector<double> SymlogAxis::edges(double range, int bins) const {
    std::vector<double> out;
    const double reach = place(range);
    for (int i = 0; i <= bins; ++i) out.push_back(value(reach * (2.0 * i / bins - 1)));
    out.front() = -range; // exact, so that the largest error lies inside
    out.back() = range;
    return out;
}

std::vector<double> SymlogAxis::ticks(double lo, double hi, int most) const {
    std::vector<double> out;
    if (!on() || !(hi > lo)) return out;
    const double gap = (hi - lo) / std::max(1, most + 2), reach = std::max(std::fabs(lo), std::fabs(hi));
    if (lo <= 0 && hi >= 0) out.push_back(0);
    double last = 0;
    for (double power = std::pow(10, std::floor(std::log10(linear)) - 2); place(power) <= reach; power *= 10)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * power, at = place(value);
            if (at - last < gap || at > reach) continue;
            last = at;
            if (-at >= lo && -at <= hi) out.push_back(-value);
            if (at >= lo && at <= hi) out.push_back(value);
        }
    std::ranges::sort(out);
    return out;
}

SymlogAxis SymlogAxis::ofErrors(double p95, double largest) {
    const double scale = p95 > 0 ? p95 : largest / 100;
    if (!(scale > 0) || !std::isfinite(scale)) return {};
    const double power = std::pow(10, std::floor(std::log10(scale)));
    return {scale >= 5 * power ? 5 * power : scale >= 2 * power ? 2 * power : power};
}

} // namespace qs
