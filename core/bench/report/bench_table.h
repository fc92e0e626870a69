// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rows of a benchmark for people: the table and the remarks under it, of the command and of reports.

#include "core/bench/run/benchmark.h"

namespace qs {

/// Columns that say the same in every row are left out; so are the wide ones where it must be `narrow`. What was timed
/// comes first.
Table benchTable(const BenchmarkPlan& plan, std::vector<BenchmarkRow> rows, bool narrow);
/// The reasons of rows without a time, each said once; busy rows; approximate variants. Empty, or begins with a new line.
std::string benchRemarks(const std::vector<BenchmarkRow>& rows);
/// The word "busy" in place of a speed-up of threads that waited for each other: no ratio of anything; "not cold" of rows
/// whose copies caches may hold. `table` has a line for each of `rows`.
void sayConditions(Table& table, std::span<const BenchmarkRow> rows);
/// A sentence about rows that are BenchmarkRow::withoutCacheRoof; empty: there are none.
std::string cacheRoofText(std::span<const BenchmarkRow> rows);

} // namespace qs
