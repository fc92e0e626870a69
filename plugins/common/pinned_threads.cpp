// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/pinned_threads.h"

#include <algorithm>
#include <filesystem>
#include <sched.h>
#include <thread>

namespace qs::plugin {
namespace {

bool setMask(int threadId, const std::vector<int>& cpus) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int cpu : cpus) CPU_SET(std::size_t(cpu), &mask);
    return ::sched_setaffinity(threadId, sizeof mask, &mask) == 0;
}

} // namespace

std::vector<int> usableCpus() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(std::size_t(cpu), &mask)) cpus.push_back(cpu);
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

std::set<int> threadIds() {
    std::set<int> ids;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", none))
        ids.insert(std::atoi(entry.path().filename().c_str()));
    return ids;
}

bool pinThread(int threadId, int cpu) { return setMask(threadId, {cpu}); }

PinnedHere::PinnedHere(int cpu) : before_(usableCpus()) { pinThread(0, cpu); }
PinnedHere::~PinnedHere() { setMask(0, before_); }

void forRanges(const std::vector<int>& cpus, std::int64_t count, std::int64_t grain,
               const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
    if (count <= 0) return;
    const auto parts = std::clamp<std::int64_t>(count / std::max<std::int64_t>(grain, 1), 1, std::int64_t(cpus.size()));
    std::vector<std::jthread> threads;
    for (std::int64_t i = 1; i < parts; ++i)
        threads.emplace_back([&body, &cpus, count, parts, i] {
            pinThread(0, cpus[std::size_t(i)]);
            body(count * i / parts, count * (i + 1) / parts);
        });
    const PinnedHere pinned(cpus.front());
    body(0, count / parts);
}

} // namespace qs::plugin
