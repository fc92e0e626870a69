// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The operation quantize: an f32 weight [N,K] becomes codes and scales in stored form. It supports every format of the
// list with every scale kind of that format. Scales follow the first calibration that the format lists.

#include "kernels/kernel_set.h"
#include "kernels/matmul.h"

namespace qs {

/// The reason for a refusal; nullptr if prepareQuantize() accepts the problem.
const char* whyNotQuantized(const MatmulProblem& problem);
std::unique_ptr<PreparedMatmul> prepareQuantize(const MatmulProblem& problem, const WeightOperand& operand,
                                                const KernelSet& kernels);

} // namespace qs
