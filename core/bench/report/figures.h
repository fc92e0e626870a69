// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From raw samples to a row's figures, and the physical limits that no honest figure passes.

#include "core/bench/run/opened.h"
#include "core/bench/run/operands.h"

namespace qs {

/// Over this share of a measured roof work was hoisted, cached or not waited for.
inline constexpr double kMostOfRoof = 1.05;

/// Bytes that one run must move: packed weights and scales, activations and result, once each.
double leastTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes);
/// Of it, what must come from memory in a cold run: what is rotated, and whatever is larger than the cache. Activations
/// and results of one small size stay cached from run to run.
double coldTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes, std::uint64_t cacheBytes);
/// Of it, what a warm run reads out of a cache in any case: the weights, or the source that is quantized.
double warmTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes);

/// Median, interval, rates. `row.samples` are there.
void fillFigures(BenchmarkRow& row, const Operands& operands);
/// Share of the nearest roof, and which. Cold rows are held against memory, warm ones against the nearest cache (the
/// fastest: whichever they run from is no faster), both against arithmetic.
void shareOfRoofs(BenchmarkRow& row, const Operands& operands, const OpenedBackend& opened, std::uint32_t device,
                  const Roofs& roofs, std::uint64_t cacheBytes);
bool aboveTheRoof(const BenchmarkRow& row);
/// Above kMostOfRoof the row becomes invalid and loses its speeds.
void refuseAboveTheRoof(BenchmarkRow& row);
void fillSpeedup(BenchmarkRow& row, std::span<const double> baselineRounds);
/// Takes all times away, with the reason.
void dropTimes(BenchmarkRow& row, RowState status, std::string reason);

} // namespace qs
