// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace qs {

unsigned workerCount() {
    static const unsigned count = [] {
        if (const char* text = std::getenv("QS_THREADS")) {
            const long asked = std::strtol(text, nullptr, 10);
            if (asked >= 1 && asked <= 1024) return unsigned(asked);
        }
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return unsigned(CPU_COUNT(&set));
        return std::max(1u, std::thread::hardware_concurrency());
    }();
    return count;
}

void parallelFor(std::size_t count, std::size_t grain,
                 const std::function<void(std::size_t, std::size_t, unsigned)>& body) {
    if (count == 0) return;
    grain = std::max<std::size_t>(1, grain);
    const std::size_t pieces = count / grain + (count % grain != 0);
    const unsigned workers = unsigned(std::min<std::size_t>(workerCount(), pieces));

    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failureMutex;
    auto work = [&](unsigned worker) {
        try {
            for (;;) {
                const std::size_t piece = next.fetch_add(1, std::memory_order_relaxed);
                if (piece >= pieces) return;
                body(piece * grain, piece * grain + std::min(grain, count - piece * grain), worker);
            }
        } catch (...) {
            std::lock_guard lock(failureMutex);
            if (!failure) failure = std::current_exception();
            next.store(pieces, std::memory_order_relaxed);
        }
    };
    {
        // Threads are started per call: ~20 us each, against steps of milliseconds, and no pool to shut down.
        std::vector<std::jthread> others;
        others.reserve(workers);
        for (unsigned worker = 1; worker < workers; ++worker) others.emplace_back(work, worker);
        work(0);
    }
    if (failure) std::rethrow_exception(failure);
}

} // namespace qs
