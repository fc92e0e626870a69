// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Timing in turns: A B C A B C ..., so that other load on the machine disturbs all of them alike.

#include "core/bench/run/gate.h"

namespace qs {

/// A prepared kernel that takes part in the turns.
struct TimedKernel {
    Backend* backend = nullptr;
    std::uint64_t handle = 0;
    const Operands* operands = nullptr;
    GuardedOutput* lastOut = nullptr; ///< result of the last timed run
    RunOptions options;               ///< warmup, buffer sets and cold are given; the rest is chosen here

    std::vector<std::uint64_t> samples; ///< nanoseconds, round after round
    std::vector<double> roundMedians;   ///< NaN: did not take part in that round
    int clock = 0;
    bool timingValid = true;
    std::optional<Failure> failure; ///< its samples are dropped
};

struct RoundPlan {
    double secondsPerKernel = 2;
    std::size_t rounds = 25;        ///< a kernel that has used its seconds skips the remaining rounds
    std::size_t mostSamples = 2000; ///< per kernel
    /// The current speed of the machine in any unit: one number per probe; empty: no probe.
    std::function<std::vector<double>()> probe;
    /// share of the best; a slower round is repeated, at most a third of `rounds`
    double leastProbe = 0.7;
    std::function<void(double)> onShare; ///< 0 .. 1 of the turns are done
    /// Called when a kernel failed; true if its backend has ended, so that all its kernels are left out.
    std::function<bool(TimedKernel&)> onFailure;
};
struct RoundsDone {
    std::size_t repeated = 0;         ///< number of repeated rounds
    std::vector<double> probeMedians; ///< of each probe over the rounds
};
/// Kernels that fail are left out of later rounds.
Result<RoundsDone> runRounds(std::vector<TimedKernel*> kernels, const RoundPlan& plan, const Job& job);

} // namespace qs
