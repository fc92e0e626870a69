// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rows that were timed beside something else on the machine, timed again.

#include "core/bench/run/benchmark.h"

#include <optional>

namespace qs {

/// Of a plan the backends, specs, shapes and caches that have busy rows, and the baseline; nullopt: none is busy.
std::optional<BenchmarkPlan> busyPart(const BenchmarkPlan& plan, std::span<const BenchmarkRow> rows);
/// Puts the rows that are not busy any more in the place of the busy ones; of each roof the higher one stays, and what
/// one pass over the model takes is added up again. Returns how many rows were replaced.
std::size_t replaceBusy(BenchmarkRun& run, const BenchmarkRun& again, std::span<const ModelShape> shapes);

} // namespace qs
