// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A signed axis that is linear around 0 and logarithmic beyond: place = sign(x) log10(1 + |x| / linear). Far out, one
// unit of place is a decade.

#include <vector>

namespace qs {

struct SymlogAxis {
    double linear = 0; ///< a power of ten; 0: an ordinary linear axis, place(x) == x

    bool on() const { return linear > 0; }
    double place(double value) const;
    double value(double place) const;
    /// `bins` + 1 values whose places are evenly spaced over [-range, range].
    std::vector<double> edges(double range, int bins) const;
    /// 0 and powers of ten on both sides whose places lie in [lo, hi], at most about `most`; fewer than three of them
    /// when the range is narrow: then linear ticks serve better.
    std::vector<double> ticks(double lo, double hi, int most) const;

    /// For errors with this median magnitude and this largest one: the linear part holds less than half of them.
    static SymlogAxis ofErrors(double median, double largest);
};

} // namespace qs
