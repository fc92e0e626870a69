// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/inverse_factor.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace qs::solve {
namespace {

constexpr std::size_t kWide = 64; ///< columns that are computed together; a row of them fits registers and L1

/// into[0..w) -= sum over k of a[k] * rows[k][0..w), rows `stride` apart.
void subtractProducts(double* into, const double* a, const double* rows, std::size_t stride, std::size_t n,
                      std::size_t w) {
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
        const double *r0 = rows + k * stride, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
        for (std::size_t j = 0; j < w; ++j) into[j] -= a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j];
    }
    for (; k < n; ++k)
        for (std::size_t j = 0; j < w; ++j) into[j] -= a[k] * rows[k * stride + j];
}

/// a becomes its Cholesky factor L, in the lower triangle.
Result<void> cholesky(std::vector<double>& a, std::size_t n, const Job& job) {
    std::vector<double> turned; // the panel's rows of L as columns
    for (std::size_t first = 0; first < n; first += kWide) {
        if (job.cancelled()) return cancelledError();
        const std::size_t w = std::min(kWide, n - first);
        turned.resize(first * w);
        for (std::size_t j = 0; j < w; ++j)
            for (std::size_t k = 0; k < first; ++k) turned[k * w + j] = a[(first + j) * n + k];
        parallelFor(n - first, 16, [&](std::size_t from, std::size_t to, unsigned) {
            for (std::size_t i = first + from; i < first + to; ++i)
                subtractProducts(&a[i * n + first], &a[i * n], turned.data(), w, first, w);
        });
        for (std::size_t j = first; j < first + w; ++j) {
            double pivot = a[j * n + j];
            for (std::size_t k = first; k < j; ++k) pivot -= a[j * n + k] * a[j * n + k];
            if (!(pivot > 0) || !std::isfinite(pivot))
                return fail("the Hessian of the inputs is not positive definite: use a larger damp, or more inputs");
            const double root = a[j * n + j] = std::sqrt(pivot);
            for (std::size_t i = j + 1; i < first + w; ++i) {
                double sum = a[i * n + j];
                for (std::size_t k = first; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
                a[i * n + j] = sum / root;
            }
        }
        parallelFor(n - first - w, 16, [&](std::size_t from, std::size_t to, unsigned) {
            for (std::size_t i = first + w + from; i < first + w + to; ++i)
                for (std::size_t j = first; j < first + w; ++j) {
                    double sum = a[i * n + j];
                    for (std::size_t k = first; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
                    a[i * n + j] = sum / a[j * n + j];
                }
        });
    }
    return {};
}

} // namespace

Result<std::vector<double>> inverseFactor(std::vector<double> a, std::size_t n, const Job& job) {
    // Goes from the last row up. This equals going from the first row down in the reversed matrix.
    std::reverse(a.begin(), a.end());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j) a[i * n + j] = a[j * n + i]; // what was the lower triangle
    if (auto ok = cholesky(a, n, job); !ok) return tl::unexpected(ok.error());
    // L^-1, a stripe of columns each: row i is (e_i - sum over k < i of L_ik row k) / L_ii.
    std::vector<double> inverse(n * n);
    parallelFor((n + kWide - 1) / kWide, 1, [&](std::size_t from, std::size_t to, unsigned) {
        for (std::size_t stripe = from; stripe < to && !job.cancelled(); ++stripe) {
            const std::size_t first = stripe * kWide, w = std::min(kWide, n - first);
            for (std::size_t i = first; i < n; ++i) {
                double* row = &inverse[i * n + first];
                if (i < first + w) row[i - first] = 1;
                subtractProducts(row, &a[i * n + first], &inverse[first * n + first], n, i - first, w);
                for (std::size_t j = 0; j < w; ++j) row[j] /= a[i * n + i];
            }
        }
    });
    if (job.cancelled()) return cancelledError();
    std::reverse(inverse.begin(), inverse.end());
    return inverse;
}

} // namespace qs::solve
