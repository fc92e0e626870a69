// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From raw samples to a row's figures, and the physical limits that no honest figure passes.

#include "core/bench/opened.h"
#include "core/bench/operands.h"

namespace qs {

/// Over this share of a measured roof work was hoisted, cached or not waited for.
inline constexpr double kMostOfRoof = 1.05;

/// Bytes that one run must move: packed weights and scales, activations and result, once each.
double leastTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes);
/// Of it, what must come from memory in a cold run: what is rotated, and whatever is larger than the cache. Activations
/// and results of one small size stay cached from run to run.
double coldTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes, std::uint64_t cacheBytes);
/// The roof of the products that a variant says it uses ("bf16 products, f32 sums"); empty when it does not say.
std::string computeRoofOf(const BenchmarkRow& row);

/// Median, interval, rates. `row.samples` are there.
void fillFigures(BenchmarkRow& row, const Operands& operands);
/// Share of the nearest roof; above kMostOfRoof the row becomes invalid and loses its speeds. Warm rows are held
/// against arithmetic alone: no roof is known for the cache that they run from.
void judgeByRoofs(BenchmarkRow& row, const Operands& operands, const OpenedBackend& opened, std::uint32_t device,
                  const Roofs& roofs, std::uint64_t cacheBytes);
void fillSpeedup(BenchmarkRow& row, std::span<const double> baselineRounds);
/// Takes all times away, with the reason.
void dropTimes(BenchmarkRow& row, RowState status, std::string reason);

} // namespace qs
