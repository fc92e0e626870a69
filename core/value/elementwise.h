// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Operations on single values. Shapes are broadcast by NumPy's rule: axes of size 1 and missing leading axes are
// repeated. Computed in f32 and rounded to the dtype of the operands; lt gives Bool.

#include "core/value/operand.h"

#include <string_view>

namespace qs::value {

struct BinaryOperation {
    const char* id; ///< "add", as in JAX's primitives
    float (*apply)(float x, float y);
    bool comparison;
};
std::span<const BinaryOperation> binaryOperations(); ///< add mul div max lt; max gives NaN if either operand is NaN
struct UnaryOperation {
    const char* id;
    float (*apply)(float x);
};
std::span<const UnaryOperation> unaryOperations(); ///< exp log sqrt

Result<Tensor> applied(const BinaryOperation& operation, const Operand& x, const Operand& y);
Tensor applied(const UnaryOperation& operation, const Operand& x);
/// Computed by repeated squaring; a negative power is the reciprocal of the positive one.
Tensor integerPow(const Operand& x, int power);

} // namespace qs::value
