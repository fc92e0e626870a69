// SPDX-License-Identifier: GPL-3.0-or-later
// The charts of a run as plots of a report.
#include "core/base/lists.h"
#include "core/bench/report/bench_report.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace qs {
namespace {

constexpr std::size_t kMostPlots = 12;

std::vector<Plot> latencyPlots(const BenchmarkRun& run) {
    std::vector<Plot> out;
    for (const auto& chart : latencyCharts(run.rows, LatencyLines::Fastest)) {
        if (std::ranges::none_of(chart.series, [](const auto& s) { return s.m.size() > 1; })) continue;
        Plot plot;
        plot.kind = Plot::Kind::Scatter;
        plot.title = chart.title;
        plot.xTitle = "M, rows of x", plot.yTitle = "median, µs";
        plot.xPowers = 2;
        plot.logY = true;
        for (const auto& series : chart.series) {
            auto& line = plot.series.emplace_back();
            line.name = series.name;
            for (std::size_t i = 0; i < series.m.size(); ++i) {
                line.x.push_back(std::log2(series.m[i]));
                line.y.push_back(series.ns[i] / 1e3);
                const auto& row = run.rows[series.rows[i]];
                line.notes.push_back(fmt::format("M = {}: {} µs, {}", row.question.m, significantText(line.y.back()),
                                                 row.answer.variant.id));
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
        plot.cellLow = 1 / map.reach, plot.cellHigh = map.reach;
        plot.emptyTitle =
            map.busy > 0 ? "no speed-up, or timed on a busy machine: see the table" : "no speed-up: see the table";
        out.push_back(std::move(plot));
    }
    return out;
}

/// For one device, the fastest variant of each M and shape below the measured roofs; both axes are logarithmic.
std::vector<Plot> rooflinePlots(const BenchmarkRun& run) {
    std::vector<Plot> out;
    for (const auto& roofline : rooflines(run.rows, run.roofs)) {
        if (!(roofline.bytesPerSecond > 0)) continue;
        Plot plot;
        plot.kind = Plot::Kind::Scatter;
        plot.title = fmt::format("Roofline of {} {}, cold cache", roofline.backend, roofline.device);
        plot.xTitle = "operations a byte", plot.yTitle = "GFLOP/s";
        plot.xPowers = 10;
        plot.logY = true;
        plot.joined = false; // points are of different shapes
        using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
        std::vector<std::string> specs; // in the order of the run
        std::map<std::string, std::map<Key, const Roofline::Point*>> best;
        double low = 0, high = 2;
        for (const auto& point : roofline.points) {
            const auto& row = run.rows[point.row];
            if (row.answer.variant.approx || row.answer.variant.experimental) continue;
            addOnce(specs, row.question.spec);
            auto& first = best[row.question.spec]
                              .try_emplace({row.question.m, row.question.n, row.question.k}, &point)
                              .first->second;
            if (point.gflops > first->gflops) first = &point;
            low = std::min(low, std::log10(point.intensity)), high = std::max(high, std::log10(point.intensity));
        }
        low = std::floor(low), high = std::ceil(high);
        for (const auto& [kind, peak] : roofline.peaks) {
            auto& line = plot.guides.emplace_back();
            line.name = kind + " roof";
            const double ridge = std::log10(peak / roofline.bytesPerSecond);
            for (const double x : {low, std::clamp(ridge, low, high), high}) {
                line.x.push_back(x);
                line.y.push_back(std::min(peak, roofline.bytesPerSecond * std::pow(10.0, x)) / 1e9);
            }
        }
        for (const auto& spec : specs) {
            auto& marks = plot.series.emplace_back();
            marks.name = spec;
            for (const auto& [key, point] : best[spec]) {
                const auto& row = run.rows[point->row];
                marks.x.push_back(std::log10(point->intensity)), marks.y.push_back(point->gflops);
                marks.notes.push_back(fmt::format("M = {}, {} x {}: {} GFLOP/s, {}", row.question.m, row.question.n,
                                                  row.question.k, significantText(point->gflops),
                                                  row.answer.variant.id));
            }
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
