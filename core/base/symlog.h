// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A signed axis that is linear around 0 and logarithmic beyond: place = sign(x) log10(1 + |x| / linear). Far from 0,
// one unit of place is a factor of 10.

#include <vector>

namespace qs {

/// `value` is a number in data units, `place` its position on the axis.
struct SymlogAxis {
    double linear = 0; ///< end of the linear part, in data units; 0: an ordinary linear axis, place(x) == x

    bool on() const { return linear > 0; }
    double place(double value) const;
    double value(double place) const;
    /// bins + 1 values whose places are evenly spaced over the places of [-range, range].
    std::vector<double> edges(double range, int bins) const;
    /// Tick values whose places lie in [lo, hi], about `most` of them: 0, and 1, 2 and 5 times powers of ten on both
    /// sides. A narrow range gives fewer than three; then use linear ticks.
    std::vector<double> ticks(double lo, double hi, int most) const;

    /// The axis for errors, from the 95th percentile and the maximum of their magnitudes. Most errors keep the shape of
    /// a linear axis, and the largest one is visible. `linear` is 1, 2 or 5 times a power of ten; 0 if there is no
    /// error.
    static SymlogAxis ofErrors(double p95, double largest);
};

} // namespace qs
