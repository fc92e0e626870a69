// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What could run: every spec of a plan put as a question to every backend, before anything is timed.

#include "core/bench/run/bench_plan.h"

namespace qs {

struct Capability {
    std::string backend, device; ///< device empty: the backend could not be opened
    std::string spec;
    RowState status = RowState::Unavailable; ///< Ok: it runs; CompileOnly; Declined; else why the backend is not there
    bool emulated = false;
    std::string reason;
    std::vector<std::string> variants; ///< their titles
};

/// Asks at the plan's first op, shape and activation; a backend that cannot be opened gives one row per spec with the
/// reason. `onRow` sees each as it comes. Only a cancelled job or an unusable plan is an error.
Result<std::vector<Capability>> capabilities(const BenchmarkPlan& plan, const Job& job,
                                             const std::function<void(const Capability&)>& onRow = {});

} // namespace qs
