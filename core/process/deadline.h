// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Waits for the answer of a worker. The wait ends at a deadline, or earlier if the worker makes no progress.

#include "core/process/frame.h"
#include "core/process/worker_process.h"

#include <chrono>
#include <functional>

namespace qs {

/// A point in time.
class Deadline {
public:
    explicit Deadline(double seconds) : at_(after(seconds)) {}
    /// Moves the deadline to `seconds` from now if that is earlier.
    void shorten(double seconds) { at_ = std::min(at_, after(seconds)); }
    bool over() const { return Clock::now() >= at_; }
    /// Milliseconds that are left: at least 1, at most `most`.
    int milliseconds(int most) const;

private:
    using Clock = std::chrono::steady_clock;
    static Clock::time_point after(double seconds);
    Clock::time_point at_;
};

/// How long a worker may run without progress. A limit of 0 means no limit.
struct StallLimits {
    std::function<std::uint64_t()> progress; ///< reads a counter that the worker raises; empty: stalls are not detected
    double working = 0;                      ///< seconds of CPU time that may pass while the counter does not change
    double idle = 0; ///< seconds in which the counter stays, no CPU time is used, and the worker waits for no disk
};

/// Why the wait is over.
enum class Waited {
    Arrived, ///< a frame has arrived
    Gone,    ///< the worker has ended, or has closed its socket
    Garbage, ///< the worker sent bytes that are not a frame; Awaited::why says more
    Late,    ///< the deadline has passed
    Spins,   ///< the worker used the CPU time StallLimits::working without progress
    Sleeps,  ///< the worker slept for StallLimits::idle seconds
    Stopped, ///< the caller's `stop` returned true
};
struct Awaited {
    Waited how = Waited::Stopped;
    Frame frame{};
    std::string why{};
};

/// Waits for the next frame of a worker. Calls `stop` at least every 50 ms; true ends the wait. `stop` may also shorten
/// the deadline.
Awaited awaitFrame(WorkerProcess& worker, Deadline& deadline, const StallLimits& stall,
                   const std::function<bool()>& stop);

} // namespace qs
