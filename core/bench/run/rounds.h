// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Timing in turns: A B C A B C ..., so that a neighbour on the machine disturbs all of them alike.

#include "core/bench/run/gate.h"

namespace qs {

/// One prepared kernel in the turns.
struct TimedKernel {
    Backend* backend = nullptr;
    std::uint64_t handle = 0;
    const Operands* operands = nullptr;
    GuardedOutput* lastOut = nullptr; ///< result of the last timed run
    RunOptions options;               ///< warmup, buffer sets and cold are given; the rest is chosen here

    std::vector<std::uint64_t> samples; ///< ns, round after round
    std::vector<double> roundMedians;   ///< NaN: took no part in that round
    int clock = 0;
    bool timingValid = true;
    std::optional<Failure> failure; ///< samples are dropped
};

struct RoundPlan {
    double secondsPerKernel = 2;
    std::size_t rounds = 25;        ///< a kernel that has used its seconds sits out the rest
    std::size_t mostSamples = 2000; ///< a kernel
    /// Speed of the machine just now, relative to nothing: one number per probe; empty: no probe.
    std::function<std::vector<double>()> probe;
    double leastProbe = 0.7;             ///< of the best; a round below it is run again, at most a third of `rounds`
    std::function<void(double)> onShare; ///< 0 .. 1 of the turns done
    /// Called when a kernel failed; true when its backend is gone and all kernels of it are to sit out.
    std::function<bool(TimedKernel&)> onFailure;
};
struct RoundsDone {
    std::size_t repeated = 0;         ///< rounds that were run again
    std::vector<double> probeMedians; ///< of each probe over the rounds
};
/// Kernels that fail are left out of the rest.
Result<RoundsDone> runRounds(std::vector<TimedKernel*> kernels, const RoundPlan& plan, const Job& job);

} // namespace qs
