// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The general product of JAX with either side quantized. Where eformer's kernel path applies, the quantized side is
// decoded a panel at a time and never whole in memory; else both sides materialize.

#include "core/value/operand.h"

namespace qs::value {

struct DotDimensions {
    std::vector<int> lhsContract, rhsContract, lhsBatch, rhsBatch;
};
struct DotOptions {
    bool kernel = true; ///< false: always materialize
};
struct DotResult {
    Tensor value;              ///< batch axes, then the free ones of lhs, then those of rhs
    std::string notApplicable; ///< why the kernel path was not taken; "" when it was
};

/// Exactly eformer's conditions (`_maybe_kernel_dot_general`), of every format with codes; "": it applies.
std::string whyNoKernel(const Operand& lhs, const Operand& rhs, const DotDimensions& dimensions);
Result<DotResult> dotGeneral(const Operand& lhs, const Operand& rhs, const DotDimensions& dimensions,
                             const DotOptions& options = {}, const Job& job = {});
/// x W over the last axis of x.
Result<Tensor> matmul(const Operand& x, const Operand& w, const Job& job = {});

} // namespace qs::value
