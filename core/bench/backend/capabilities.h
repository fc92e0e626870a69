// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What could run: asks every backend about every spec of a plan, before anything is timed.

#include "core/bench/run/bench_plan.h"

namespace qs {

struct Capability {
    std::string backend, device; ///< device is empty if the backend could not be opened
    std::string spec;
    /// Ok: it runs; CompileOnly; Declined; otherwise why the backend is not available
    RowState status = RowState::Unavailable;
    bool emulated = false;
    std::string reason;
    std::vector<std::string> variants; ///< titles of the variants
    std::int64_t n = 0, k = 0;         ///< of the shape that was asked about
};

/// Asks for the first op, shape and activation of the plan. A backend that cannot be opened gives one row per spec with
/// the reason. `onRow` gets each row as it arrives. Only a cancelled job or an invalid plan is an error.
Result<std::vector<Capability>> capabilities(const BenchmarkPlan& plan, const Job& job,
                                             const std::function<void(const Capability&)>& onRow = {});
/// The same for every shape of the plan.
Result<std::vector<Capability>> capabilitiesOfShapes(const BenchmarkPlan& plan, const Job& job);

} // namespace qs
