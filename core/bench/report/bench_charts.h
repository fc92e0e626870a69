// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rows as charts, for the report and the window: which rows belong together, and what is the best of them. Every point
// and cell knows the row that it was measured in, as an index into the rows given.

#include "core/bench/run/benchmark.h"

namespace qs {

struct LatencySeries {
    std::string name;
    std::vector<double> m, ns, low, high; ///< low and high are NaN without an interval
    std::vector<std::size_t> rows;
};
struct LatencyChart {
    std::string title;
    std::vector<LatencySeries> series;
    /// Where the fastest changes: the first measured M at which another series is fastest with disjoint intervals.
    std::vector<std::pair<double, std::string>> crossovers;
};
enum class LatencyLines {
    Variants, ///< a series per backend, spec and variant
    Fastest,  ///< per backend and spec, at each M the fastest variant that is neither approximate nor experimental
};
/// A chart per op, (N, K), activation and cache state, in the order of the rows.
std::vector<LatencyChart> latencyCharts(std::span<const BenchmarkRow> rows,
                                        LatencyLines lines = LatencyLines::Variants);

/// Speed-up over openblas f32: rows are shapes, columns backend and spec, the best variant of each that is neither
/// approximate nor experimental; a map per op, activation and cache state.
struct SpeedupMap {
    std::string title;
    std::vector<std::string> shapes, columns;
    std::vector<double> cells; ///< row-major; NaN where no speed-up is known, or was timed on a busy machine
    std::vector<int> rows;     ///< of each cell; -1: nothing was asked
    int busy = 0;              ///< cells that have none because the machine was busy
};
std::vector<SpeedupMap> speedupMaps(std::span<const BenchmarkRow> rows);

/// What one device reached from a cold cache, under its measured roofs.
struct Roofline {
    struct Point {
        double intensity, gflops; ///< operations a byte; 10^9 operations a second
        std::size_t row;
    };
    std::string backend, device;
    double bytesPerSecond = 0;                         ///< 0: not measured
    std::vector<std::pair<std::string, double>> peaks; ///< kind of arithmetic, operations a second
    std::vector<Point> points;                         ///< by intensity
};
std::vector<Roofline> rooflines(std::span<const BenchmarkRow> rows, std::span<const MeasuredRoof> roofs);

} // namespace qs
