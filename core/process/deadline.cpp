// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/deadline.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

constexpr int kMostMilliseconds = 50; ///< a cancel does not wake poll(), so each poll must be short

/// Detects a worker that makes no progress.
class StallWatch {
public:
    StallWatch(const WorkerProcess& worker, const StallLimits& limits) : worker_(worker), limits_(limits) { count(); }
    /// Returns Spins or Sleeps if the worker has stalled, else Arrived.
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
    double usedThen_ = 0, used_ = 0; ///< CPU seconds used: at the last change of the counter; at the last look
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
        const bool dead = worker.dead(); // ask before receive(): a frame that was sent before the end still counts
        auto frame = worker.control().receive();
        if (!frame && frame.error().closed) return {Waited::Gone};
        if (!frame) return {Waited::Garbage, {}, frame.error().what};
        if (*frame) {
            worker.wait(0); // reads into the log what the worker printed before this answer
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
