// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"
#include "plugins/abi/quantscope_backend.h"

#include <atomic>
#include <chrono>
#include <memory>

struct qs_ctx {
    const qs_host* host;
    qs::ThreadTeam team;
    std::atomic<bool> cancelled{false};
    qs::Aligned<char> stream{}; ///< what the bandwidth roofs read and write

    bool stop() const { return cancelled || (host && host->should_stop && host->should_stop(host->user)); }
    qs::StopRequest stopRequest() const {
        return {[](const void* ctx) { return static_cast<const qs_ctx*>(ctx)->stop(); }, this};
    }
};

struct qs_kernel {
    qs_ctx* ctx;
    qs::MatmulProblem problem;
    const qs::MatmulVariant* variant;
    std::unique_ptr<qs::PreparedMatmul> prepared;
    std::vector<std::unique_ptr<qs::PreparedMatmul>> copies{}; ///< for cold runs
};

namespace qs::cpu {

inline uint64_t nanoseconds() {
    return uint64_t(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

/// Runs `once` (false: stopped) as the options ask and keeps the times; QS_OK or QS_CANCELLED.
template<class Once> int32_t sample(const qs_run_opts& opts, qs_run_result& result, const Once& once) {
    for (uint32_t i = 0; i < opts.warmup; ++i)
        if (!once()) return QS_CANCELLED;
    const uint32_t chain = opts.chain ? opts.chain : 1, wanted = std::min(std::max(opts.iters, 1u), result.cap);
    const uint64_t begin = nanoseconds();
    result.n = 0;
    while (result.n < wanted) {
        const uint64_t start = nanoseconds();
        for (uint32_t i = 0; i < chain; ++i)
            if (!once()) return QS_CANCELLED;
        const uint64_t end = nanoseconds();
        result.samples_ns[result.n++] = (end - start) / chain;
        if (opts.max_seconds > 0 && double(end - begin) > opts.max_seconds * 1e9) break;
    }
    result.clock = QS_CLOCK_HOST, result.timing_valid = 1;
    return QS_OK;
}

int32_t prepare(qs_ctx*, uint32_t, const qs_problem*, const char*, const qs_tensor* const*, uint32_t, qs_kernel**,
                qs_kernel_info*, qs_error*);
int32_t execute(qs_kernel*, const qs_tensor* const*, uint32_t, qs_tensor* const*, uint32_t, qs_error*);
int32_t bench(qs_kernel*, const qs_tensor* const*, uint32_t, const qs_run_opts*, qs_run_result*, qs_error*);
int32_t artifact(qs_kernel*, const char*, char*, uint64_t, uint64_t*, qs_error*);
int32_t roof(qs_ctx*, uint32_t, const char*, const qs_run_opts*, qs_run_result*, double*, qs_error*);

} // namespace qs::cpu
