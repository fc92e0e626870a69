// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// quantize as an operation: an f32 weight [N,K] to codes and scales as they are stored, in every format of the list and
// with every kind of scale that it may have, by the format's own calibration.

#include "kernels/kernel_set.h"
#include "kernels/matmul.h"

namespace qs {

const char* whyNotQuantized(const MatmulProblem& problem); ///< nullptr: prepareQuantize() does it
std::unique_ptr<PreparedMatmul> prepareQuantize(const MatmulProblem& problem, const WeightOperand& operand,
                                                const KernelSet& kernels);

} // namespace qs
