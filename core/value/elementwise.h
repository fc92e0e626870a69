// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Operations value by value. Both shapes must agree after NumPy's rule: axes of size 1 and missing leading ones repeat.
// Computed in f32 and rounded to the operands' dtype; lt gives Bool.

#include "core/value/operand.h"

#include <string_view>

namespace qs::value {

struct BinaryOperation {
    const char* id; ///< "add", as JAX's primitive
    float (*apply)(float x, float y);
    bool comparison;
};
std::span<const BinaryOperation> binaryOperations(); ///< add mul div max lt; max gives NaN where either is
struct UnaryOperation {
    const char* id;
    float (*apply)(float x);
};
std::span<const UnaryOperation> unaryOperations(); ///< exp log sqrt

Result<Tensor> applied(const BinaryOperation& operation, const Operand& x, const Operand& y);
Tensor applied(const UnaryOperation& operation, const Operand& x);
/// By repeated squaring; a negative power is the reciprocal of the positive one.
Tensor integerPow(const Operand& x, int power);

} // namespace qs::value
