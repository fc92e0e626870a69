// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The timed loop of a backend whose runs end when the call returns.

#include "plugins/common/entry.h"

#include <atomic>
#include <chrono>

namespace qs::plugin {

/// run(turn): one run on copy turn % buffer_sets. Throws Refusal(QS_CANCELLED) when the host or cancel() says stop.
template<class Run>
void timedLoop(const qs_host* host, const std::atomic<bool>& cancelled, const qs_run_opts& opts, qs_run_result& result,
               Run run) {
    using Clock = std::chrono::steady_clock;
    const qs_host h = given(host);
    const auto stop = [&] {
        if (cancelled.load() || (h.should_stop && h.should_stop(h.user))) throw Refusal(QS_CANCELLED, "stopped");
    };
    const std::uint32_t chain = std::max(1u, opts.chain);
    std::uint32_t turn = 0;
    for (std::uint32_t i = 0; i < opts.warmup; ++i) stop(), run(turn++);
    const auto begin = Clock::now();
    result.clock = QS_CLOCK_HOST, result.timing_valid = 1, result.n = 0;
    while (result.n < std::max(1u, opts.iters) && result.n < result.cap) {
        stop();
        const auto start = Clock::now();
        for (std::uint32_t i = 0; i < chain; ++i) run(turn++);
        const auto end = Clock::now();
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
        result.samples_ns[result.n++] = std::uint64_t(ns) / chain;
        if (std::chrono::duration<double>(end - begin).count() > opts.max_seconds) break;
    }
}

} // namespace qs::plugin
