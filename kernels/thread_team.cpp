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

ThreadTeam::ThreadTeam(int threads) : m_cpus(allowedCpus()) {
    const int cpus = m_cpus.empty() ? int(std::thread::hardware_concurrency()) : int(m_cpus.size());
    if (threads <= 0) threads = cpus > 0 ? cpus : 1;
    if (std::size_t(threads) > m_cpus.size()) m_cpus.clear();
    for (int worker = 1; worker < threads; ++worker) m_threads.emplace_back([this, worker] { serve(worker); });
}

ThreadTeam::~ThreadTeam() {
    m_end = true;
    m_round.fetch_add(1, std::memory_order_release);
    m_round.notify_all();
    for (auto& thread : m_threads) thread.join();
}

void ThreadTeam::serve(int worker) {
    if (!m_cpus.empty()) pinThisThread(m_cpus[std::size_t(worker)]);
    for (std::uint32_t seen = 0;;) {
        waitWhile(m_round, seen, kSpinForWork);
        ++seen;
        if (m_end) return;
        m_call(m_work, worker);
        if (m_busy.fetch_sub(1, std::memory_order_acq_rel) == 1) m_busy.notify_one();
    }
}

void ThreadTeam::runAll(Call call, const void* work) {
    if (m_threads.empty()) return call(work, 0);
    m_call = call, m_work = work;
    m_busy.store(std::uint32_t(m_threads.size()), std::memory_order_relaxed);
    m_round.fetch_add(1, std::memory_order_release);
    m_round.notify_all();
    call(work, 0);
    while (const std::uint32_t busy = m_busy.load(std::memory_order_acquire)) waitWhile(m_busy, busy, kSpinForEnd);
}

ThreadTeam::Pin::Pin([[maybe_unused]] const ThreadTeam& team) {
#if defined(__linux__)
    cpu_set_t set;
    if (team.m_cpus.empty() || sched_getaffinity(0, sizeof set, &set) != 0) return;
    m_before.resize(sizeof set);
    std::memcpy(m_before.data(), &set, sizeof set);
    pinThisThread(team.m_cpus.front());
#endif
}

ThreadTeam::Pin::~Pin() {
#if defined(__linux__)
    if (m_before.empty()) return;
    cpu_set_t set;
    std::memcpy(&set, m_before.data(), sizeof set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
#endif
}

} // namespace qs
