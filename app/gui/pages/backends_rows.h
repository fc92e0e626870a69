// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From rows of a benchmark to what the backends page draws. Plain values: no widget.

#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/bench/benchmark.h"

namespace qs::gui {

/// The rows that can share one latency chart: same op, N x K, activations and cache.
QString latencyGroup(const BenchmarkRow& row);
QStringList latencyGroups(const std::vector<BenchmarkRow>& rows); ///< in the order they came

struct LatencyPicture {
    QVector<PlotSeries> series; ///< x: log2 M, y: µs; a band under each line with an interval
    QVector<PlotMarker> crossovers;
    int measured = 0; ///< points
};
/// `all`: one line a variant; else the fastest variant of each backend and spec that is not approximate.
LatencyPicture latencyPicture(const std::vector<BenchmarkRow>& rows, const QString& group, bool all);

struct SpeedupPicture {
    HeatMapData map;       ///< log2 of the speed-up over f32 sgemm; rows are shapes, columns backend and spec
    std::vector<int> best; ///< per cell: index of the row shown; -1: none
};
SpeedupPicture speedupPicture(const std::vector<BenchmarkRow>& rows);

struct RooflinePicture {
    QVector<PlotSeries> series; ///< x: log10 op/byte, y: GFLOP/s
    QVector<int> rowOf;         ///< of the dots, all series in a row
};
/// Of one device ("cpu/cpu:0"), cold rows and roofs.
RooflinePicture rooflinePicture(const std::vector<BenchmarkRow>& rows, const std::vector<MeasuredRoof>& roofs,
                                const QString& device);
QStringList deviceKeys(const std::vector<BenchmarkRow>& rows);

/// What was run, in full: command, arithmetic, samples, reason.
QString rowText(const BenchmarkRow& row);

} // namespace qs::gui
