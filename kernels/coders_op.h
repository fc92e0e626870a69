// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel_set.h"
#include "kernels/matmul.h"

namespace qs {

/// quantize, quant_act and dequantize (of 16 levels, high nibble first) with the coders of a kernel set.
const char* whyNotCoded(const MatmulProblem& problem); ///< nullptr: prepareCoded() does it
std::unique_ptr<PreparedMatmul> prepareCoded(const MatmulProblem& problem, const WeightOperand& operand,
                                             const KernelSet& kernels);

} // namespace qs
