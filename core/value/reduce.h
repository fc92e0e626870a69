// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reductions over axes, and joining tensors: both materialize.

#include "core/value/operand.h"

namespace qs::value {

enum class Reduction { Sum, Product, Max, Min };
/// Starts at `initial`; the reduced axes leave the shape. Sums are f64 and rounded once.
Result<Tensor> reduce(const Operand& x, float initial, Reduction reduction, std::span<const int> axes);
/// All shapes but `axis` alike; the dtypes' common one.
Result<Tensor> concatenate(std::span<const Operand> parts, int axis);

} // namespace qs::value
