// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts the charts of a benchmark to what the backends page draws. Plain values without widgets.

#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/bench/report/bench_charts.h"

namespace qs::gui {

using BenchRows = std::vector<BenchmarkRow>;

/// The title of one latency chart: what its rows have in common: "y = x Wᵀ   544 × 192   act f32   cold".
QString latencyGroup(const BenchmarkRow& row);
/// The title of one speed-up map: what its rows have in common.
QString speedupGroup(const BenchmarkRow& row);
QString deviceKey(const BenchmarkRow& row); ///< "cpu/cpu:0"

struct LatencyPicture {
    /// x: log2 M, y: µs. Each line has a band if it has intervals, and a dot on each point
    QVector<PlotSeries> series;
    QVector<PlotMarker> crossovers;
};
LatencyPicture latencyPicture(const LatencyChart& chart, const BenchRows& rows);

/// Cells are log2 of the speed-up.
HeatMapData speedupPicture(const SpeedupMap& map);

/// x: log10 of operations per byte, y: GFLOP/s. Shows roofs, a line for each spec and shape through the fastest variant
/// of each M, and a dot for each variant.
QVector<PlotSeries> rooflinePicture(const Roofline& roofline, const BenchRows& rows);

/// All details of a row: command, arithmetic, samples, reason.
QString rowText(const BenchmarkRow& row);

} // namespace qs::gui
