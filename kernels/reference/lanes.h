// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

namespace qs::reference {

/// A lane-strided f64 sum: see kernel_set.h. Internal linkage on purpose: it is compiled next to SIMD code.
namespace {
struct Lanes {
    double lane[16] = {};
    void add(std::size_t i, double value) { lane[i % 16] += value; }
    double fold() const {
        double a[16];
        for (int j = 0; j < 16; ++j) a[j] = lane[j];
        for (int half = 8; half > 0; half /= 2)
            for (int j = 0; j < half; ++j) a[j] += a[j + half];
        return a[0];
    }
};
} // namespace

} // namespace qs::reference
