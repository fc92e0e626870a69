// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/lane_kernels.h"

namespace qs {

/// Few rows of x: every panel once, decoded in registers. Dense: panels decoded into the cache, for many rows.
enum class LaneLoop { Gemv, Gemm };

/// nullptr: the loop with these kernels does it.
const char* whyNotLanes(const MatmulProblem& problem, const LaneKernels& kernels, LaneProducts products, LaneLoop loop);
std::unique_ptr<PreparedMatmul> prepareLanes(const MatmulProblem& problem, const WeightOperand& operand,
                                             const LaneKernels& kernels, LaneProducts products, LaneLoop loop,
                                             ThreadTeam& team);

} // namespace qs
