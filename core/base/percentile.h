// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <span>

namespace qs {

/// Linear between the two nearest of `sorted`, ascending; at fraction * (n - 1). Not empty.
inline double percentile(std::span<const double> sorted, double fraction) {
    const double at = fraction * double(sorted.size() - 1);
    const auto below = std::size_t(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (at - double(below));
}

} // namespace qs
