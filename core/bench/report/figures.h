// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Computes the figures of a row from raw samples, and checks them against physical limits.

#include "core/bench/run/opened.h"
#include "core/bench/run/operands.h"

namespace qs {

/// Above this share of a measured roof the figure must be wrong: work was skipped, cached or not waited for.
inline constexpr double kMostOfRoof = 1.05;

/// Bytes that one run must move: packed weights and scales, activations and result, once each.
double leastTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes);
/// The part that must come from memory in a cold run: rotated copies, and everything larger than the cache. Activations
/// and results of one small size stay cached.
double coldTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes, std::uint64_t cacheBytes);
/// The part that a warm run reads from a cache: the weights, or the source that is quantized.
double warmTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes);

/// Computes median, interval and rates from `row.samples`.
void fillFigures(BenchmarkRow& row, const Operands& operands);
/// Computes the share of the nearest roof, and which roof it is. Cold rows are compared with memory; warm rows with the
/// fastest cache, because the cache they use is at most as fast; both with arithmetic.
void shareOfRoofs(BenchmarkRow& row, const Operands& operands, const OpenedBackend& opened, std::uint32_t device,
                  const Roofs& roofs, std::uint64_t cacheBytes);
bool aboveTheRoof(const BenchmarkRow& row);
/// Above kMostOfRoof the row becomes invalid and loses its speeds.
void refuseAboveTheRoof(BenchmarkRow& row);
/// The median of the ratios of rounds, with its interval. Marks the row as busy where that says little: too few rounds,
/// rounds that differ much, or a ratio that contradicts the medians of both rows.
void fillSpeedup(BenchmarkRow& row, const BenchmarkRow& baseline);
/// Removes all times and sets the reason.
void dropTimes(BenchmarkRow& row, RowState status, std::string reason);

} // namespace qs
