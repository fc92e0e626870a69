// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reductions over axes, and concatenation. Quantized operands are decoded first.

#include "core/value/operand.h"

namespace qs::value {

enum class Reduction { Sum, Product, Max, Min };
/// Starts with `initial`; the result lacks the reduced axes. Sums are f64 and rounded once.
Result<Tensor> reduce(const Operand& x, float initial, Reduction reduction, std::span<const int> axes);
/// Shapes must be equal except along `axis`. The result has the common dtype.
Result<Tensor> concatenate(std::span<const Operand> parts, int axis);

} // namespace qs::value
