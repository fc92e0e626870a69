// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Threads that stay alive through a forward pass, whose loops take microseconds.

#include "kernels/thread_team.h"

#include <algorithm>
#include <memory>

namespace qs::eval {

/// One thread at a time may use it.
class Workers {
public:
    explicit Workers(unsigned threads) : team_(std::make_shared<ThreadTeam>(int(threads))) {}

    std::size_t count() const { return std::size_t(team_->size()); }
    /// For products, which then run on the same threads.
    const std::shared_ptr<ThreadTeam>& team() const { return team_; }

    /// body(begin, end, worker) for ranges of at most `grain` items that cover [0, count). Which worker gets a range is
    /// not fixed, so results must not depend on it.
    template<class Body> void each(std::size_t count, std::size_t grain, const Body& body) const {
        std::atomic<std::size_t> next{0};
        const auto work = [&](int worker) {
            for (std::size_t i; (i = next.fetch_add(grain, std::memory_order_relaxed)) < count;)
                body(i, std::min(count, i + grain), std::size_t(worker));
        };
        count <= grain ? work(0) : team_->run(work);
    }

private:
    std::shared_ptr<ThreadTeam> team_;
};

} // namespace qs::eval
