// SPDX-License-Identifier: GPL-3.0-or-later
// The charts of a run as plots of a report.
#include "core/bench/bench_report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

constexpr std::size_t kMostPlots = 12;

std::vector<Plot> latencyPlots(const BenchmarkRun& run) {
    std::vector<Plot> out;
    for (const auto& chart : latencyCharts(run.rows, LatencyLines::Fastest)) {
        if (std::none_of(chart.series.begin(), chart.series.end(), [](const auto& s) { return s.m.size() > 1; }))
            continue;
        Plot plot;
        plot.kind = Plot::Kind::Lines;
        plot.title = chart.title;
        plot.xTitle = "log2 M", plot.yTitle = "median, ns";
        plot.logY = true;
        for (const auto& series : chart.series) {
            auto& line = plot.series.emplace_back();
            line.name = series.name;
            for (std::size_t i = 0; i < series.m.size(); ++i) {
                line.x.push_back(std::log2(series.m[i]));
                line.y.push_back(series.ns[i]);
            }
        }
        for (const auto& [m, name] : chart.crossovers) {
            plot.verticals.push_back(std::log2(m));
            plot.verticalLabels.push_back(fmt::format("from M = {}: {}", m, name));
        }
        out.push_back(std::move(plot));
    }
    return out;
}

std::vector<Plot> speedupPlots(const BenchmarkRun& run) {
    std::vector<Plot> out;
    for (const auto& map : speedupMaps(run.rows)) {
        Plot plot;
        plot.kind = Plot::Kind::HeatMap;
        plot.title = map.title;
        plot.xTitle = "backend and spec", plot.yTitle = "M x N x K";
        plot.categories = map.columns;
        plot.rowLabels = map.shapes;
        plot.cells = map.cells;
        plot.cellTitle = "Speed-up x: blue slower, orange faster";
        plot.logY = true;
        plot.emptyTitle = "no speed-up: see the table";
        out.push_back(std::move(plot));
    }
    return out;
}

/// The fastest of each intensity on one device under its measured ceilings; both axes logarithmic.
std::vector<Plot> rooflinePlots(const BenchmarkRun& run) {
    std::vector<Plot> out;
    for (const auto& roofline : rooflines(run.rows, run.roofs)) {
        if (!(roofline.bytesPerSecond > 0)) continue;
        Plot plot;
        plot.kind = Plot::Kind::Lines;
        plot.title = fmt::format("Roofline of {} {}, cold cache", roofline.backend, roofline.device);
        plot.xTitle = "log10 of operations a byte", plot.yTitle = "GFLOP/s";
        plot.logY = true;
        for (const auto& [kind, peak] : roofline.peaks) {
            auto& line = plot.series.emplace_back();
            line.name = kind + " roof";
            for (int step = -8; step <= 32; ++step) {
                const double x = step / 8.0;
                line.x.push_back(x);
                line.y.push_back(std::min(peak, roofline.bytesPerSecond * std::pow(10.0, x)) / 1e9);
            }
        }
        std::map<std::string, std::map<double, double>> points;
        for (const auto& point : roofline.points) {
            const auto& row = run.rows[point.row];
            if (row.approx || row.experimental) continue;
            double& best = points[row.spec][std::log10(point.intensity)];
            best = std::max(best, point.gflops);
        }
        for (const auto& [name, list] : points) {
            auto& line = plot.series.emplace_back();
            line.name = name;
            for (const auto& [x, y] : list) line.x.push_back(x), line.y.push_back(y);
        }
        out.push_back(std::move(plot));
    }
    return out;
}

} // namespace

std::vector<Plot> benchmarkPlots(const BenchmarkRun& run) {
    std::vector<Plot> out = latencyPlots(run);
    for (auto& plot : speedupPlots(run)) out.push_back(std::move(plot));
    for (auto& plot : rooflinePlots(run)) out.push_back(std::move(plot));
    if (out.size() > kMostPlots) out.resize(kMostPlots);
    return out;
}

} // namespace qs
