// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The context and the kernel of the cpu backend, and its functions that need a file of their own.

#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"
#include "plugins/common/entry.h"

#include <atomic>
#include <memory>

struct qs_ctx {
    const qs_host* host;
    qs::ThreadTeam team;
    std::atomic<bool> cancelled{false};
    qs::Aligned<char> stream{}; ///< memory that the bandwidth roofs read and write

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
    std::vector<std::unique_ptr<qs::PreparedMatmul>> copies{}; ///< more copies of the weights, for cold runs
    std::string assembly{};                                    ///< text of its inner loops; made at the first request
    std::uint32_t turn = 0; ///< next copy to use. It is kept between calls: copies of the last call may be in a cache
};

namespace qs::cpu {

using plugin::fail;
using plugin::give;
using plugin::given;
using plugin::giveText;
using plugin::guarded;
using plugin::put;
inline std::string_view text(const char* s) { return s ? std::string_view(s) : std::string_view(); }

/// Runs once() as often as the options ask and stores the times in `result`. once() returns false if it was stopped.
/// Returns QS_OK or QS_CANCELLED.
template<class Once> int32_t sample(const qs_run_opts& opts, qs_run_result& result, const Once& once) {
    const auto run = [](void* body, uint32_t) {
        return (*static_cast<const Once*>(body))() ? QS_OK : int32_t(QS_CANCELLED);
    };
    return qs_time_runs(nullptr, &opts, &result, run, const_cast<Once*>(&once));
}

int32_t prepare(qs_ctx*, uint32_t, const qs_problem*, const char*, const qs_tensor* const*, uint32_t, qs_kernel**,
                qs_kernel_info*, qs_error*);
int32_t execute(qs_kernel*, const qs_tensor* const*, uint32_t, qs_tensor* const*, uint32_t, qs_error*);
int32_t bench(qs_kernel*, const qs_tensor* const*, uint32_t, const qs_run_opts*, qs_run_result*, qs_error*);
int32_t artifact(qs_kernel*, const char*, char*, uint64_t, uint64_t*, qs_error*);
int32_t roof(qs_ctx*, uint32_t, const char*, const qs_run_opts*, qs_run_result*, double*, qs_error*);

} // namespace qs::cpu
