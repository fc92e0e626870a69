// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/cholesky.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace qs::solve {

std::vector<double> choleskyOf(std::vector<double> g, std::size_t k) {
    constexpr double kRounding = 1e-11;
    std::vector<double> diagonal(k);
    for (std::size_t i = 0; i < k; ++i) diagonal[i] = g[i * k + i];
    for (std::size_t i = 0; i < k; ++i) {
        double* row = g.data() + i * k;
        std::fill_n(row, i, 0.0);
        const double pivot = row[i] > kRounding * diagonal[i] && row[i] > 0 ? std::sqrt(row[i]) : 0;
        for (std::size_t j = i; j < k; ++j) row[j] = pivot > 0 ? row[j] / pivot : 0;
        parallelFor(k - i - 1, 16, [&](std::size_t begin, std::size_t end, unsigned) {
            for (std::size_t r = i + 1 + begin; r < i + 1 + end; ++r)
                for (std::size_t j = r; j < k; ++j) g[r * k + j] -= row[r] * row[j];
        });
    }
    return g;
}

} // namespace qs::solve
