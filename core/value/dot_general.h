// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// JAX's dot_general where either operand can be quantized. If the conditions of eformer's kernel hold, the quantized
// operand is decoded in panels and is never whole in memory. Otherwise both operands are decoded first.

#include "core/value/operand.h"

namespace qs::value {

struct DotDimensions {
    std::vector<int> lhsContract, rhsContract, lhsBatch, rhsBatch;
};
struct DotOptions {
    bool kernel = true; ///< false: always decode both operands
};
struct DotResult {
    Tensor value;              ///< axes: batch, then the free ones of lhs, then those of rhs
    std::string notApplicable; ///< why the kernel was not used; "" if it was
};

/// Exactly eformer's conditions (`_maybe_kernel_dot_general`), for every format with codes. "": the kernel applies.
std::string whyNoKernel(const Operand& lhs, const Operand& rhs, const DotDimensions& dimensions);
Result<DotResult> dotGeneral(const Operand& lhs, const Operand& rhs, const DotDimensions& dimensions,
                             const DotOptions& options = {}, const Job& job = {});
/// x W, summed over the last axis of x.
Result<Tensor> matmul(const Operand& x, const Operand& w, const Job& job = {});

} // namespace qs::value
