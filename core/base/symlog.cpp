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
    out.front() = -range; // to the bit: the largest error lies inside
    out.back() = range;
    return out;
}

std::vector<double> SymlogAxis::ticks(double lo, double hi, int most) const {
    std::vector<double> out;
    if (!on() || !(hi > lo)) return out;
    const double gap = (hi - lo) / std::max(1, most);
    if (lo <= 0 && hi >= 0) out.push_back(0);
    for (double power = linear, last = 0; place(power) <= std::max(std::fabs(lo), std::fabs(hi)); power *= 10) {
        if (place(power) - last < gap) continue;
        last = place(power);
        if (-last >= lo && -last <= hi) out.push_back(-power);
        if (last >= lo && last <= hi) out.push_back(power);
    }
    std::sort(out.begin(), out.end());
    return out;
}

SymlogAxis SymlogAxis::ofErrors(double median, double largest) {
    const double scale = median > 0 ? median / 3 : largest / 300;
    return {scale > 0 && std::isfinite(scale) ? std::pow(10, std::floor(std::log10(scale))) : 0};
}

} // namespace qs
