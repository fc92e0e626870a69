// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel_set.h"
#include "kernels/matmul.h"

namespace qs {

/// The operations quantize, quantize-activations and dequantize, computed row by row with the functions of a kernel
/// set. Dequantize covers 16 levels packed two codes a byte, high nibble first.
/// whyNotCoded() returns the reason for a refusal, or nullptr if prepareCoded() accepts the problem.
const char* whyNotCoded(const MatmulProblem& problem);
std::unique_ptr<PreparedMatmul> prepareCoded(const MatmulProblem& problem, const WeightOperand& operand,
                                             const KernelSet& kernels);

} // namespace qs
