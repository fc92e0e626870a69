// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From the charts of a benchmark to what the backends page draws. Plain values: no widget.

#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/bench/report/bench_charts.h"

namespace qs::gui {

using BenchRows = std::vector<BenchmarkRow>;

/// What the rows of one latency chart share: "y = x Wᵀ   544 × 192   act f32   cold".
QString latencyGroup(const BenchmarkRow& row);
/// What the rows of one speed-up map share.
QString speedupGroup(const BenchmarkRow& row);
QString deviceKey(const BenchmarkRow& row); ///< "cpu/cpu:0"

struct LatencyPicture {
    QVector<PlotSeries> series; ///< x: log2 M, y: µs; a band under each line with an interval, a dot on each point
    QVector<PlotMarker> crossovers;
};
LatencyPicture latencyPicture(const LatencyChart& chart, const BenchRows& rows);

/// log2 of the speed-up.
HeatMapData speedupPicture(const SpeedupMap& map);

/// x: log10 of operations a byte, y: GFLOP/s. Roofs, the way of each spec and shape through the fastest of each M, and
/// every variant as a dot.
QVector<PlotSeries> rooflinePicture(const Roofline& roofline, const BenchRows& rows);

/// What was run, in full: command, arithmetic, samples, reason.
QString rowText(const BenchmarkRow& row);

} // namespace qs::gui
