// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A signed axis that is linear around 0 and logarithmic beyond: place = sign(x) log10(1 + |x| / linear). Far out, one
// unit of place is a decade.

#include <vector>

namespace qs {

struct SymlogAxis {
    double linear = 0; ///< 0: an ordinary linear axis, place(x) == x

    bool on() const { return linear > 0; }
    double place(double value) const;
    double value(double place) const;
    /// `bins` + 1 values whose places are evenly spaced over [-range, range].
    std::vector<double> edges(double range, int bins) const;
    /// 0 and 1, 2 and 5 times powers of ten on both sides whose places lie in [lo, hi], about `most` of them; fewer
    /// than three when the range is narrow: then linear ticks serve better.
    std::vector<double> ticks(double lo, double hi, int most) const;

    /// For errors with this 95th percentile of their size: the bulk keeps the shape that it has on a linear axis, and
    /// the largest one is in view. 1, 2 or 5 times a power of ten; off when there is no error.
    static SymlogAxis ofErrors(double p95, double largest);
};

} // namespace qs
