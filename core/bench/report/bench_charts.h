// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts rows to charts, for the report and the window: groups rows and finds the best of each group. Every point and
// cell has the index of its row.

#include "core/bench/run/benchmark.h"

namespace qs {

struct LatencySeries {
    std::string name;
    std::vector<double> m, ns, low, high; ///< low and high are NaN if there is no interval
    std::vector<std::size_t> rows;
};
struct LatencyChart {
    std::string title;
    std::vector<LatencySeries> series;
    /// The first measured M at which another series is fastest with disjoint intervals.
    std::vector<std::pair<double, std::string>> crossovers;
};
enum class LatencyLines {
    Variants, ///< one series per backend, spec and variant
    /// one series per backend and spec: for each M the fastest variant that is neither approximate nor experimental
    Fastest,
};
/// One chart per op, (N, K), activation and cache state, in the order of rows.
std::vector<LatencyChart> latencyCharts(std::span<const BenchmarkRow> rows,
                                        LatencyLines lines = LatencyLines::Variants);

/// Speed-up over openblas f32. Rows are shapes, columns are backend and spec; a cell has the variant with the least
/// median that is neither approximate nor experimental. One map per op, activation and cache state.
struct SpeedupMap {
    std::string title;
    std::vector<std::string> shapes, columns;
    std::vector<double> cells; ///< row-major; NaN if no speed-up is known, or it was timed on a busy machine
    std::vector<int> rows;     ///< index of the row of each cell; -1: nothing was asked
    int busy = 0;              ///< number of cells without a value because the machine was busy
    /// Colours end at this factor, above and below 1; at least 2. One cell far beyond all others does not move it.
    double reach = 2;
};
std::vector<SpeedupMap> speedupMaps(std::span<const BenchmarkRow> rows);

/// What one device reached from a cold cache, and its measured roofs.
struct Roofline {
    struct Point {
        double intensity, gflops; ///< operations per byte; 10^9 operations per second
        std::size_t row;
    };
    std::string backend, device;
    double bytesPerSecond = 0;                         ///< 0: not measured
    std::vector<std::pair<std::string, double>> peaks; ///< kind of arithmetic, operations per second
    std::vector<Point> points;                         ///< sorted by intensity
};
std::vector<Roofline> rooflines(std::span<const BenchmarkRow> rows, std::span<const MeasuredRoof> roofs);

} // namespace qs
