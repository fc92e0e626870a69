// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Waiting for what a worker answers: until a deadline, and no longer than it gets on.

#include "core/process/frame.h"
#include "core/process/worker_process.h"

#include <chrono>
#include <functional>

namespace qs {

/// A point in time.
class Deadline {
public:
    explicit Deadline(double seconds) : at_(after(seconds)) {}
    /// At most `seconds` from now.
    void shorten(double seconds) { at_ = std::min(at_, after(seconds)); }
    bool over() const { return Clock::now() >= at_; }
    /// Until then, at most `most` and at least 1.
    int milliseconds(int most) const;

private:
    using Clock = std::chrono::steady_clock;
    static Clock::time_point after(double seconds);
    Clock::time_point at_;
};

/// Signs that a worker gets on with a question, and how long it may do without them. 0: for ever.
struct StallLimits {
    std::function<std::uint64_t()> progress; ///< a counter that the worker raises; empty: nothing is watched
    double working = 0;                      ///< seconds of CPU time while the counter stands still
    double idle = 0; ///< seconds in which the worker neither counts, nor uses CPU time, nor waits for the disk
};

/// Why the wait is over.
enum class Waited {
    Arrived, ///< with a frame
    Gone,    ///< the worker has ended, or closed its end
    Garbage, ///< it sent what is no frame; `why` says what
    Late,    ///< the deadline is over
    Spins,   ///< it used StallLimits::working
    Sleeps,  ///< it slept for StallLimits::idle
    Stopped, ///< `stop` said so
};
struct Awaited {
    Waited how = Waited::Stopped;
    Frame frame{};
    std::string why{};
};

/// The next frame of a worker. `stop` is asked at least every 50 ms: true ends the wait; it may shorten the deadline
/// instead.
Awaited awaitFrame(WorkerProcess& worker, Deadline& deadline, const StallLimits& stall,
                   const std::function<bool()>& stop);

} // namespace qs
