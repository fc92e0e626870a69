// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Everything that is timed in turns: each backend, spec and variant of one operation, shape and activation type.

#include "core/bench/run/contender.h"

namespace qs {

/// State that the groups of a run share.
struct BenchState {
    const BenchmarkPlan& plan;
    const Job& job;
    std::vector<OpenedBackend> backends;
    Roofs roofs;
    Gate gate;
    std::uint64_t coldBytes = 0;   ///< bytes that all copies must have together on the host
    std::uint64_t memoryBytes = 0; ///< bytes that kernels and their copies may take at once
    std::function<void(BenchmarkRow)> emit;
    std::function<void(double share, const std::string& what)> progress;
};

using WeightsOf = std::function<Result<std::shared_ptr<const BenchWeights>>(const QuantSpec&)>;

/// Emits a row per contender and cache state. Fails only when cancelled or out of memory.
Result<void> runGroup(BenchState& state, const BenchOp& op, const BenchAct& act, const BenchShape& shape,
                      const WeightsOf& weights);

} // namespace qs
