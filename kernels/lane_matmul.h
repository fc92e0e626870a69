// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/lane_kernels.h"

namespace qs {

/// Gemv, for few rows of x: every panel is read once and decoded in registers. Gemm, for many rows: panels are decoded
/// into the cache, and a dense product follows.
enum class LaneLoop { Gemv, Gemm };

/// Reason why this loop cannot compute the problem with these kernels; nullptr: it can.
const char* whyNotLanes(const MatmulProblem& problem, const LaneKernels& kernels, LaneProducts products, LaneLoop loop);
std::unique_ptr<PreparedMatmul> prepareLanes(const MatmulProblem& problem, const WeightOperand& operand,
                                             const LaneKernels& kernels, LaneProducts products, LaneLoop loop,
                                             ThreadTeam& team);

} // namespace qs
