// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Threads on CPUs of their own. Unpinned ones may share a CPU for milliseconds; ones that a library starts while its
// caller is pinned inherit that one CPU. So: load with the whole mask, then pin what was started, and the caller only
// while it works.

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace qs::plugin {

/// CPUs that this process may use, ascending.
std::vector<int> usableCpus();
/// Threads of this process, by kernel id.
std::set<int> threadIds();
bool pinThread(int threadId, int cpu); ///< 0: the calling thread

/// The calling thread on one CPU until the end of the scope.
class PinnedHere {
public:
    explicit PinnedHere(int cpu);
    ~PinnedHere();
    PinnedHere(const PinnedHere&) = delete;
    PinnedHere& operator=(const PinnedHere&) = delete;

private:
    std::vector<int> before_;
};

/// Cuts 0..count-1 into at most cpus.size() ranges of at least `grain`; the caller does the first one, on cpus[0].
void forRanges(const std::vector<int>& cpus, std::int64_t count, std::int64_t grain,
               const std::function<void(std::int64_t begin, std::int64_t end)>& body);

} // namespace qs::plugin
