// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <vector>

namespace qs::solve {

/// Upper triangular R with R^T R = G, k x k row-major, of a symmetric G without negative eigenvalues; the upper triangle
/// of G is read. A pivot that rounding leaves at or below 1e-11 of its diagonal is 0: that row of R is 0.
std::vector<double> choleskyOf(std::vector<double> g, std::size_t k);

} // namespace qs::solve
