// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/gram.h"

#include "core/base/parallel.h"

#include <algorithm>

namespace qs::solve {

std::vector<double> gram(const value::Tensor& x, std::size_t first, std::size_t n, const Job& job) {
    constexpr std::size_t kWide = 64, kDeep = 256;
    const auto m = std::size_t(x.shape[0]), k = std::size_t(x.shape[1]);
    std::vector<double> out(n * n);
    // Computes stripes of columns. The inputs are converted to f64 slab by slab.
    const std::size_t stripes = (n + kWide - 1) / kWide;
    std::vector<double> slab;
    for (std::size_t top = 0; top < m && !job.cancelled(); top += kDeep) {
        const std::size_t deep = std::min(kDeep, m - top);
        slab.resize(deep * n);
        for (std::size_t i = 0; i < deep; ++i)
            for (std::size_t j = 0; j < n; ++j) slab[i * n + j] = double(x.values[(top + i) * k + first + j]);
        parallelFor(stripes, 1, [&](std::size_t from, std::size_t to, unsigned) {
            for (std::size_t s = from; s < to; ++s) {
                const std::size_t column = s * kWide, w = std::min(kWide, n - column);
                for (std::size_t i = column; i < n; ++i) {
                    double* row = &out[i * n + column];
                    for (std::size_t d = 0; d < deep; ++d) {
                        const double a = slab[d * n + i];
                        const double* b = &slab[d * n + column];
                        for (std::size_t j = 0; j < w; ++j) row[j] += a * b[j];
                    }
                }
            }
        });
    }
    // Above the diagonal of the stripes' own squares are sums that are not part of the result.
    for (std::size_t i = 0; i < n; ++i) std::fill_n(&out[i * n + i] + 1, n - i - 1, 0.0);
    return out;
}

} // namespace qs::solve
