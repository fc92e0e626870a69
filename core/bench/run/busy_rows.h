// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measures rows again that were timed while something else ran on the machine.

#include "core/bench/run/benchmark.h"

#include <optional>

namespace qs {

/// The part of a plan with busy rows (backends, specs, shapes, caches), and the baseline; nullopt: no row is busy.
std::optional<BenchmarkPlan> busyPart(const BenchmarkPlan& plan, std::span<const BenchmarkRow> rows);
/// Replaces busy rows by rows of `again` that are not busy. Keeps the higher value of each roof, and computes the sums
/// over the model again. Returns the number of replaced rows.
std::size_t replaceBusy(BenchmarkRun& run, const BenchmarkRun& again, std::span<const ModelShape> shapes);

} // namespace qs
