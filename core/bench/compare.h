// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A run against an earlier one that was written as JSON.

#include "core/bench/bench_row.h"

namespace qs {

/// What an earlier run says of a row; only what a comparison needs.
struct BaselineRow {
    std::string key; ///< rowKey()
    std::string status;
    std::optional<double> medianNs, nmse;
    std::optional<Interval> ciNs;
    std::size_t samples = 0;
};
struct BenchBaseline {
    std::vector<BaselineRow> rows;
    std::vector<std::pair<std::string, std::string>> provenance; ///< texts only
};
Result<BenchBaseline> readBenchBaseline(const std::string& path);
Result<BenchBaseline> parseBenchBaseline(std::string_view json, const std::string& path);

struct ComparedRow {
    std::string key;
    std::string oldStatus, status;          ///< empty: not in that run
    std::optional<double> oldNs, ns, ratio; ///< ratio: old time / new time, above 1 is faster now
    std::optional<Interval> ratioRange;     ///< from the ends of both intervals: the noise
    std::optional<double> oldNmse, nmse;
    std::string verdict; ///< "faster", "slower", "within noise", "no interval", "only now", "only before", "was wrong"
};
std::vector<ComparedRow> compareRuns(const BenchBaseline& before, std::span<const BenchmarkRow> rows);
const Columns<ComparedRow>& comparedColumns();

} // namespace qs
