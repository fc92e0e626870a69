// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/thread_team.h"

#include <chrono>
#include <cstring>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace qs {
namespace {

void relax() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// How long a thread spins before it sleeps. The next call comes soon or not at all, and a call under way ends soon.
// Waking a thread takes 50 us in a virtual machine.
constexpr std::chrono::microseconds kSpinForWork{60}, kSpinForEnd{300};
/// Returns when `value` is no longer `old`. Spins for a while, then sleeps in the kernel.
void waitWhile(const std::atomic<std::uint32_t>& value, std::uint32_t old, std::chrono::microseconds spin) {
    const auto end = std::chrono::steady_clock::now() + spin;
    for (;;) {
        for (int i = 0; i < 64; ++i) {
            if (value.load(std::memory_order_acquire) != old) return;
            relax();
        }
        if (std::chrono::steady_clock::now() >= end) break;
        std::this_thread::yield(); // lets a worker run that shares this CPU
    }
    while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

std::vector<int> allowedCpus() {
    std::vector<int> cpus;
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
#endif
    return cpus;
}

void pinThisThread([[maybe_unused]] int cpu) {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set); // if this fails, only speed is lost
#endif
}

} // namespace

ThreadTeam::ThreadTeam(int threads) : cpus_(allowedCpus()) {
    const int cpus = cpus_.empty() ? int(std::thread::hardware_concurrency()) : int(cpus_.size());
    if (threads <= 0) threads = cpus > 0 ? cpus : 1;
    if (std::size_t(threads) > cpus_.size()) cpus_.clear();
    for (int worker = 1; worker < threads; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
}

ThreadTeam::~ThreadTeam() {
    end_ = true;
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void ThreadTeam::serve(int worker) {
    if (!cpus_.empty()) pinThisThread(cpus_[std::size_t(worker)]);
    for (std::uint32_t seen = 0;;) {
        waitWhile(round_, seen, kSpinForWork);
        ++seen;
        if (end_) return;
        call_(work_, worker);
        if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
}

void ThreadTeam::runAll(Call call, const void* work) {
    if (threads_.empty()) return call(work, 0);
    call_ = call, work_ = work;
    busy_.store(std::uint32_t(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    call(work, 0);
    while (const std::uint32_t busy = busy_.load(std::memory_order_acquire)) waitWhile(busy_, busy, kSpinForEnd);
}

ThreadTeam::Pin::Pin([[maybe_unused]] const ThreadTeam& team) {
#if defined(__linux__)
    cpu_set_t set;
    if (team.cpus_.empty() || sched_getaffinity(0, sizeof set, &set) != 0) return;
    before_.resize(sizeof set);
    std::memcpy(before_.data(), &set, sizeof set);
    pinThisThread(team.cpus_.front());
#endif
}

ThreadTeam::Pin::~Pin() {
#if defined(__linux__)
    if (before_.empty()) return;
    cpu_set_t set;
    std::memcpy(&set, before_.data(), sizeof set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
#endif
}

} // namespace qs
