// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/pinned_threads.h"

#include <cstdlib>
#include <filesystem>
#include <sched.h>

namespace qs::plugin {
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

bool pinThread(int threadId, int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(std::size_t(cpu), &mask);
    return ::sched_setaffinity(threadId, sizeof mask, &mask) == 0;
}

} // namespace qs::plugin
