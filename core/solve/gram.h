// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/job.h"
#include "core/value/tensor.h"

#include <vector>

namespace qs::solve {

/// X^T X over columns [first, first + n), n x n row-major, in f64; the lower triangle and the diagonal are filled.
/// Zeros when cancelled.
std::vector<double> gram(const value::Tensor& x, std::size_t first, std::size_t n, const Job& job);

} // namespace qs::solve
