// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/parallel.h"

#include "core/base/job_scope.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace qs {

std::vector<int> cpusOfThread() {
    std::vector<int> out;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
    return out;
}

namespace {

/// The CPUs that the process may use. Read once, because the mask of a pinned worker has only one CPU.
const std::vector<int>& allowedCpus() {
    static const std::vector<int> cpus = cpusOfThread();
    return cpus;
}

std::atomic<unsigned> takenCores{0};

/// Pins workers 1, 2, ... to different CPUs, starting after `home`, the CPU of the caller. Without this, the kernel
/// starts them on the CPU of the caller, and a step of ten milliseconds ends before it moves them (measured: no faster
/// than one thread). The thread must still run: the handle of a finished thread would mean the caller, who would then
/// stay pinned.
void pin(std::jthread& thread, unsigned worker, int home) {
    const auto& cpus = allowedCpus();
    if (cpus.size() < 2) return;
    const auto at = std::size_t(std::find(cpus.begin(), cpus.end(), home) - cpus.begin());
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[(at + worker) % cpus.size()], &set);
    pthread_setaffinity_np(thread.native_handle(), sizeof set, &set); // not required: the result is right without it
}

/// Sets `placed` at the end of its scope, also after an exception: all threads have been pinned.
struct SaysPlaced {
    std::atomic<bool>& placed;
    ~SaysPlaced() {
        placed.store(true, std::memory_order_release);
        placed.notify_all();
    }
};

} // namespace

unsigned workerCount() {
    static const unsigned count = [] {
        if (const char* text = std::getenv("QS_THREADS")) {
            const long asked = std::strtol(text, nullptr, 10);
            if (asked >= 1 && asked <= 1024) return unsigned(asked);
        }
        if (!allowedCpus().empty()) return unsigned(allowedCpus().size());
        return std::max(1u, std::thread::hardware_concurrency());
    }();
    return count;
}

TakenCore::TakenCore() { takenCores.fetch_add(1, std::memory_order_relaxed); }
TakenCore::~TakenCore() { takenCores.fetch_sub(1, std::memory_order_relaxed); }

void parallelFor(std::size_t count, std::size_t grain,
                 const std::function<void(std::size_t, std::size_t, unsigned)>& body) {
    if (count == 0) return;
    grain = std::max<std::size_t>(1, grain);
    const std::size_t pieces = count / grain + (count % grain != 0);
    const unsigned free = workerCount() - std::min(workerCount() - 1, takenCores.load(std::memory_order_relaxed));
    const unsigned workers = unsigned(std::min<std::size_t>(free, pieces));

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
        // Threads are started for each call. That costs about 20 us each, while steps take milliseconds, and there is
        // no pool to shut down.
        std::atomic<bool> placed{false};
        std::vector<std::jthread> others;
        others.reserve(workers);
        const int home = workers > 1 ? sched_getcpu() : 0;
        {
            const SaysPlaced after{placed};
            for (unsigned worker = 1; worker < workers; ++worker) {
                others.emplace_back([&work, &placed, worker, job = JobScope::current()] {
                    const JobScope scope(job);
                    work(worker);
                    placed.wait(false, std::memory_order_acquire);
                });
                pin(others.back(), worker, home);
            }
        }
        work(0);
    }
    if (failure) std::rethrow_exception(failure);
}

} // namespace qs
