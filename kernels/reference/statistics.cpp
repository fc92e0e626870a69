// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/reference/lanes.h"
#include "kernels/reference/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace qs::reference {

float absMax(const float* x, std::size_t n, bool finiteOnly) {
    float max = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const float a = std::fabs(x[i]);
        if (finiteOnly ? !std::isfinite(a) : false) continue;
        if (std::isnan(a)) return std::numeric_limits<float>::quiet_NaN();
        max = std::max(max, a);
    }
    return max;
}

double sumAbs(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count) {
    Lanes lanes;
    std::uint64_t counted = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (finiteOnly && !std::isfinite(x[i])) continue;
        lanes.add(i, double(std::fabs(x[i])));
        ++counted;
    }
    if (count) *count = counted;
    return lanes.fold();
}

AboveSum sumAbsAbove(const float* x, std::size_t n, float threshold) {
    Lanes lanes;
    AboveSum above;
    for (std::size_t i = 0; i < n; ++i) {
        const float a = std::fabs(x[i]);
        if (!std::isfinite(a) || !(a > threshold)) continue;
        lanes.add(i, double(a));
        ++above.count;
    }
    above.sum = lanes.fold();
    return above;
}

double sum(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count) {
    Lanes lanes;
    std::uint64_t counted = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (finiteOnly && !std::isfinite(x[i])) continue;
        lanes.add(i, double(x[i]));
        ++counted;
    }
    if (count) *count = counted;
    return lanes.fold();
}

double sumSquaredDeviation(const float* x, std::size_t n, float mean, bool finiteOnly) {
    Lanes lanes;
    for (std::size_t i = 0; i < n; ++i) {
        if (finiteOnly && !std::isfinite(x[i])) continue;
        const float deviation = x[i] - mean;
        const float square = deviation * deviation;
        lanes.add(i, double(square));
    }
    return lanes.fold();
}

Moments moments(const float* x, std::size_t n) {
    Moments m;
    Lanes s1, s2, s3, s4;
    float min = std::numeric_limits<float>::infinity(), max = -min;
    std::uint64_t finite = 0;
    m.pivot = pivotOf(x, n);
    for (std::size_t i = 0; i < n; ++i) {
        if (std::isnan(x[i])) {
            ++m.nan;
        } else if (std::isinf(x[i])) {
            ++m.inf;
        } else {
            const double w = double(x[i]) - double(m.pivot), w2 = w * w;
            s1.add(i, w);
            s2.add(i, w2);
            s3.add(i, w2 * w);
            s4.add(i, w2 * w2);
            min = std::min(min, x[i]);
            max = std::max(max, x[i]);
            m.zeros += x[i] == 0;
            ++finite;
        }
    }
    m.n = double(finite);
    m.s1 = s1.fold(), m.s2 = s2.fold(), m.s3 = s3.fold(), m.s4 = s4.fold();
    if (finite) m.min = min + 0.0f, m.max = max + 0.0f; // adding +0 turns -0 into +0
    return m;
}

void floatBins(const float* x, std::size_t n, std::uint32_t* bins) {
    for (std::size_t i = 0; i < n; ++i)
        if (std::isfinite(x[i])) ++bins[std::bit_cast<std::uint32_t>(x[i]) >> kFloatBinShift];
}

void columnAbsMax(const float* x, std::size_t n, float* into) {
    for (std::size_t i = 0; i < n; ++i)
        if (std::isfinite(x[i])) into[i] = std::max(into[i], std::fabs(x[i]));
}

} // namespace qs::reference
