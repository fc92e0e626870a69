// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The timed loop of a backend whose runs are complete when the call returns.

#include "plugins/common/entry.h"

#include <atomic>

namespace qs::plugin {

/// Calls run(turn) for each run, with turn = 0, 1, 2, ...; the run uses copy turn % buffer_sets of the weights. Throws
/// Refusal(QS_CANCELLED) if the host or cancel() asks to stop.
template<class Run>
void timedLoop(const qs_host* host, const std::atomic<bool>& cancelled, const qs_run_opts& opts, qs_run_result& result,
               Run run) {
    struct Turns {
        const std::atomic<bool>& cancelled;
        Run& run;
        std::uint32_t turn = 0;
    } turns{cancelled, run};
    const auto once = [](void* arg, std::uint32_t) -> std::int32_t {
        auto& t = *static_cast<Turns*>(arg);
        if (t.cancelled.load()) return QS_CANCELLED;
        t.run(t.turn++);
        return QS_OK;
    };
    if (qs_time_runs(host, &opts, &result, once, &turns) != QS_OK) throw Refusal(QS_CANCELLED, "stopped");
}

} // namespace qs::plugin
