// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/deadline.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

constexpr int kMostMilliseconds = 50; ///< nothing wakes a poll when a job is cancelled

/// What a worker has done since it last got on.
class StallWatch {
public:
    StallWatch(const WorkerProcess& worker, const StallLimits& limits) : worker_(worker), limits_(limits) { count(); }
    /// Arrived: it gets on.
    Waited look() {
        if (!limits_.progress) return Waited::Arrived;
        const double used = worker_.cpuSeconds();
        if (limits_.progress() != counted_) {
            count();
        } else if (limits_.working > 0 && used - usedThen_ > limits_.working) {
            return Waited::Spins;
        } else if (used != used_ || (limits_.idle > 0 && idle_.over() && worker_.waitsForDisk())) {
            used_ = used;
            idle_ = Deadline(limits_.idle);
        }
        return limits_.idle > 0 && idle_.over() ? Waited::Sleeps : Waited::Arrived;
    }

private:
    void count() {
        if (limits_.progress) counted_ = limits_.progress();
        used_ = usedThen_ = worker_.cpuSeconds();
        idle_ = Deadline(limits_.idle);
    }
    const WorkerProcess& worker_;
    const StallLimits& limits_;
    std::uint64_t counted_ = 0;
    double usedThen_ = 0, used_ = 0; ///< CPU seconds: when it last counted; when it was last seen to work
    Deadline idle_{0};
};

} // namespace

Deadline::Clock::time_point Deadline::after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int Deadline::milliseconds(int most) const {
    const std::chrono::duration<double, std::milli> left = at_ - Clock::now();
    return int(std::clamp(std::ceil(left.count()), 1.0, double(most)));
}

Awaited awaitFrame(WorkerProcess& worker, Deadline& deadline, const StallLimits& stall,
                   const std::function<bool()>& stop) {
    StallWatch watch(worker, stall);
    for (;;) {
        const bool dead = worker.dead(); // asked first: what it said before its end counts
        auto frame = worker.control().receive();
        if (!frame && frame.error().closed) return {Waited::Gone};
        if (!frame) return {Waited::Garbage, {}, frame.error().what};
        if (*frame) {
            worker.wait(0); // what was printed before the answer belongs to the log by now
            return {Waited::Arrived, std::move(**frame)};
        }
        if (dead) return {Waited::Gone};
        if (deadline.over()) return {Waited::Late};
        if (stop()) return {Waited::Stopped};
        if (const auto seen = watch.look(); seen != Waited::Arrived) return {seen};
        worker.wait(deadline.milliseconds(kMostMilliseconds));
    }
}

} // namespace qs
