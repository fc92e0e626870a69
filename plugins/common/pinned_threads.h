// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Threads that a library starts. Unpinned they may share a CPU for milliseconds; started while their caller is pinned
// they inherit that one CPU. So: load with the whole mask, then pin what was started. Threads of our own: ThreadTeam.

#include <set>
#include <vector>

namespace qs::plugin {

/// CPUs that this process may use, ascending.
std::vector<int> usableCpus();
/// Threads of this process, by kernel id.
std::set<int> threadIds();
bool pinThread(int threadId, int cpu); ///< 0: the calling thread

} // namespace qs::plugin
