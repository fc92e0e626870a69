// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Dense factors of symmetric positive definite matrices, f64, on all cores.

#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <vector>

namespace qs::solve {

/// The upper triangular U with positive diagonal and U^T U = A^-1, n x n row-major; the upper triangle of A is not read.
/// With A = V V^T for an upper triangular V, which is the Cholesky factor of A taken from its last row up, U = V^-1.
/// Fails when A is not positive definite.
Result<std::vector<double>> inverseFactor(std::vector<double> a, std::size_t n, const Job& job);

} // namespace qs::solve
