// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Runs a loop on all CPU cores.

#include <cstddef>
#include <functional>
#include <vector>

namespace qs {

/// The number of workers that parallelFor uses: the value of QS_THREADS (1 to 1024), or the CPUs that this process may
/// use.
unsigned workerCount();
/// The CPUs that the calling thread may use; those of the process, unless the thread is pinned.
std::vector<int> cpusOfThread();

/// Calls body(begin, end, worker) for consecutive ranges of at most `grain` items that cover [0, count). Up to
/// workerCount() threads call it; one of them is the caller. `worker` is below workerCount() and identifies scratch
/// memory of the thread. The worker of a range is not fixed, so results must not depend on it. An exception in a body
/// is rethrown here.
void parallelFor(std::size_t count, std::size_t grain,
                 const std::function<void(std::size_t begin, std::size_t end, unsigned worker)>& body);

/// While it lives, parallelFor uses one worker fewer (but at least one), because another thread needs a core.
class TakenCore {
public:
    TakenCore();
    ~TakenCore();
    TakenCore(const TakenCore&) = delete;
    TakenCore& operator=(const TakenCore&) = delete;
};

} // namespace qs
