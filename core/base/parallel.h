// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One way to use all cores.

#include <cstddef>
#include <functional>

namespace qs {

/// Number of workers that parallelFor uses: the cores this process may run on, or QS_THREADS.
unsigned workerCount();

/// Calls body(begin, end, worker) for consecutive ranges of at most `grain` items that cover [0, count), from up to
/// workerCount() threads, the caller among them; `worker` < workerCount() identifies the thread's scratch space.
/// Which range a worker gets is not fixed: results must not depend on it. An exception in a body is rethrown here.
void parallelFor(std::size_t count, std::size_t grain,
                 const std::function<void(std::size_t begin, std::size_t end, unsigned worker)>& body);

/// While it lives, parallelFor starts one worker fewer (at least one): a thread beside it needs a core of its own.
class TakenCore {
public:
    TakenCore();
    ~TakenCore();
    TakenCore(const TakenCore&) = delete;
    TakenCore& operator=(const TakenCore&) = delete;
};

} // namespace qs
