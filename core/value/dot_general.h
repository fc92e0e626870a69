// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The general product of JAX with either side quantized. Where the seed's kernel path applies, the quantized side is
// decoded a panel at a time and never whole in memory; else both sides materialize.

#include "core/value/operand.h"

#include <optional>

namespace qs::value {

struct DotDimensions {
    std::vector<int> lhsContract, rhsContract, lhsBatch, rhsBatch;
};
/// F32: f32 products and sums, of our own. SeedBf16: the seed's kernel, which rounds the dense side to bf16, sums in
/// f32 and rounds the result to bf16; only where the kernel path applies.
enum class KernelArithmetic { F32, SeedBf16 };
struct DotOptions {
    KernelArithmetic arithmetic = KernelArithmetic::F32;
    bool precisionGiven = false;        ///< of JAX's `precision`: its mere presence keeps the seed from its kernel
    std::optional<DType> preferredType; ///< preferred_element_type: the result's dtype
    bool kernel = true;                 ///< false: always materialize
};
struct DotResult {
    Tensor value;              ///< batch axes, then the free ones of lhs, then those of rhs
    std::string notApplicable; ///< why the kernel path was not taken; "" when it was
};

/// Exactly the conditions of the seed (`_maybe_kernel_dot_general`), of every format with codes; "": it applies.
std::string whyNoKernel(const Operand& lhs, const Operand& rhs, const DotDimensions& dimensions,
                        const DotOptions& options = {});
Result<DotResult> dotGeneral(const Operand& lhs, const Operand& rhs, const DotDimensions& dimensions,
                             const DotOptions& options = {}, const Job& job = {});
/// x W and x W^T over the last axis of x.
Result<Tensor> matmul(const Operand& x, const Operand& w, const Job& job = {});
Result<Tensor> matmulTransposed(const Operand& x, const Operand& w, const Job& job = {});

} // namespace qs::value
