// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/bench/benchmark.h"
#include "core/bench/compare.h"
#include "core/report/report.h"

namespace qs {

/// Tables and plots of a run; `compared` is empty without a baseline. JSON has rows, roofs, model and compared.
Report benchmarkReport(const BenchmarkPlan& plan, const BenchmarkRun& run,
                       const std::vector<ComparedRow>& compared = {});

/// Latency against log2 M, one plot per op, (N, K), activation and cache state, one series per backend, spec and
/// variant, bounds of the interval as `low` and `high`.
struct LatencySeries {
    std::string name;
    std::vector<double> m, ns, low, high; ///< low and high are NaN without an interval
};
struct LatencyChart {
    std::string title;
    std::vector<LatencySeries> series;
    /// Where the fastest changes: the first measured M at which another series is fastest with disjoint intervals.
    std::vector<std::pair<double, std::string>> crossovers;
};
std::vector<LatencyChart> latencyCharts(std::span<const BenchmarkRow> rows);

/// Speed-up over openblas f32: rows are shapes, columns backend and spec; NaN where nothing was measured.
struct SpeedupMap {
    std::string title;
    std::vector<std::string> shapes, columns;
    std::vector<double> cells; ///< row-major
};
std::vector<SpeedupMap> speedupMaps(std::span<const BenchmarkRow> rows);

std::vector<Plot> benchmarkPlots(const BenchmarkRun& run);

} // namespace qs
