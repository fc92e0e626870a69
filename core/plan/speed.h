// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Speed beside error beside size: one spec for all tensors, on every backend that was measured, at every M.

#include "core/plan/proof.h"

namespace qs::plan {

/// One spec everywhere on one backend.
struct SpeedPoint {
    LatencyCase where; ///< without `ms`
    std::int64_t m = 1;
    std::size_t spec = 0; ///< index into the specs of the options
    std::string specText;
    double ns = 0;              ///< of the products of one pass over m tokens
    std::optional<Interval> ci; ///< sums of both ends of the medians' intervals; none where one is missing
    std::size_t busy = 0;       ///< products timed while something else ran on the machine
    std::uint64_t bytes = 0;    ///< of the whole file
    double loss = 0;            ///< sum over the tensors, by the objective of the plan
    std::optional<double> kl;   ///< mean KL, nats a token, measured on held-out text
    double nsPerToken() const { return ns / double(m); }
    double radius(std::uint64_t most) const; ///< of its dot in pixels: the area is in proportion to the bytes
};

/// A spec that is faster than another from some M on.
struct Crossover {
    LatencyCase where; ///< without `ms`
    std::string spec, over;
    std::int64_t m = 0, before = 0; ///< M at which it is faster; the M before it, at which it was slower
};

struct SpeedMap {
    std::vector<SpeedPoint> points; ///< by backend, then M, then spec
    std::vector<Crossover> crossovers;
    std::vector<std::string> remarks;     ///< specs without a point, and why: sentences
    bool isMeasured() const;              ///< some point has a measured KL: that is its error then, else the loss is
    std::vector<std::int64_t> ms() const; ///< ascending
    std::uint64_t mostBytes() const;      ///< of the points
};
/// `proof`: of a plan of the same options, whose uniform specs have a measured KL; null: none. Crossings are counted
/// where the intervals of both times are apart.
SpeedMap speedMap(const Options& options, std::span<const BenchmarkRow> rows, const PlanProof* proof);

const Columns<SpeedPoint>& speedColumns();
const Columns<Crossover>& crossoverColumns();
std::string crossoverText(const Crossover& one); ///< a sentence

} // namespace qs::plan
