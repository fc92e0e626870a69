// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The table of rows and the remarks below it, for the command line and for reports.

#include "core/bench/run/benchmark.h"

namespace qs {

/// Leaves out columns that are equal in every row, and wide ones if it must be `narrow`. Timed rows come first.
Table benchTable(const BenchmarkPlan& plan, std::vector<BenchmarkRow> rows, bool narrow);
/// The reasons of rows without a time, each once; busy rows; approximate variants. Empty, or begins with a new line.
std::string benchRemarks(const std::vector<BenchmarkRow>& rows);
/// Writes "busy" in place of speed-ups that were timed on a busy machine, and "not cold" for rows whose copies may be
/// in caches. `table` has one line for each of `rows`.
void sayConditions(Table& table, std::span<const BenchmarkRow> rows);
/// A sentence about rows with BenchmarkRow::withoutCacheRoof; empty: there are none.
std::string cacheRoofText(std::span<const BenchmarkRow> rows);

} // namespace qs
