// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Pins the threads that a library starts to CPUs. Threads that are not pinned may share one CPU for milliseconds.
// Threads that a pinned thread starts all inherit its one CPU. So load the library from a thread that may use all CPUs,
// then pin the threads that it has started. Our own threads are in ThreadTeam.

#include <set>
#include <vector>

namespace qs::plugin {

/// The CPUs that this process may use, in ascending order.
std::vector<int> usableCpus();
/// The kernel ids of the threads of this process.
std::set<int> threadIds();
bool pinThread(int threadId, int cpu); ///< threadId 0 means the calling thread

} // namespace qs::plugin
