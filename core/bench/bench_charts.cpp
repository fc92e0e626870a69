// SPDX-License-Identifier: GPL-3.0-or-later
// Latency against M, speed-up by shape, and the roofline, out of rows.
#include "core/bench/bench_report.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace qs {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostPlots = 12;

std::string seriesOf(const BenchmarkRow& row) {
    return fmt::format("{} {}{}", row.backend, row.spec, row.variant.empty() ? "" : " " + row.variant);
}
std::string placeOfRow(const BenchmarkRow& row) {
    return fmt::format("{}, {} activations, {} cache", row.op, row.act, cacheText(row.cache));
}

struct Point {
    double m, ns, low, high;
    std::optional<Interval> ci;
};

std::vector<std::pair<double, std::string>>
crossoversOf(const std::map<double, std::vector<std::pair<std::string, Point>>>& byM) {
    std::vector<std::pair<double, std::string>> out;
    std::string leader;
    for (const auto& [m, points] : byM) {
        const auto best = std::min_element(points.begin(), points.end(),
                                           [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
        if (leader.empty()) {
            leader = best->first;
            continue;
        }
        if (best->first == leader) continue;
        const auto old = std::find_if(points.begin(), points.end(), [&](const auto& p) { return p.first == leader; });
        if (old != points.end() && compareTimes(best->second.ci, old->second.ci) != Verdict::Faster) continue;
        leader = best->first;
        out.emplace_back(m, leader);
    }
    return out;
}

} // namespace

std::vector<LatencyChart> latencyCharts(std::span<const BenchmarkRow> rows) {
    std::vector<std::string> titles;
    std::map<std::string, std::map<std::string, std::map<double, Point>>> charts;
    std::map<std::string, std::vector<std::string>> order;
    for (const auto& row : rows) {
        if (!row.medianNs || row.act.empty()) continue;
        const std::string title = fmt::format("Latency against M, N = {}, K = {}, {}", row.n, row.k, placeOfRow(row));
        const std::string name = seriesOf(row);
        if (!charts.count(title)) titles.push_back(title);
        auto& series = charts[title];
        if (!series.count(name)) order[title].push_back(name);
        series[name][double(row.m)] = {double(row.m), *row.medianNs, row.ciNs ? row.ciNs->low : kNaN,
                                       row.ciNs ? row.ciNs->high : kNaN, row.ciNs};
    }
    std::vector<LatencyChart> out;
    for (const auto& title : titles) {
        LatencyChart chart;
        chart.title = title;
        std::map<double, std::vector<std::pair<std::string, Point>>> byM;
        for (const auto& name : order[title]) {
            auto& series = chart.series.emplace_back();
            series.name = name;
            for (const auto& [m, p] : charts[title][name]) {
                series.m.push_back(m);
                series.ns.push_back(p.ns);
                series.low.push_back(p.low);
                series.high.push_back(p.high);
                byM[m].emplace_back(name, p);
            }
        }
        chart.crossovers = crossoversOf(byM);
        out.push_back(std::move(chart));
    }
    return out;
}

std::vector<SpeedupMap> speedupMaps(std::span<const BenchmarkRow> rows) {
    std::vector<SpeedupMap> out;
    const auto indexIn = [](std::vector<std::string>& list, const std::string& text) {
        const auto at = std::find(list.begin(), list.end(), text);
        if (at != list.end()) return std::size_t(at - list.begin());
        list.push_back(text);
        return list.size() - 1;
    };
    struct Cell {
        std::size_t map, row, column;
        double value;
    };
    std::vector<Cell> cells;
    for (const auto& row : rows) {
        if (row.act.empty() || row.device.empty() || row.approx || row.experimental) continue;
        const std::string title = fmt::format("Speed-up over openblas f32, {}", placeOfRow(row));
        auto map = std::find_if(out.begin(), out.end(), [&](const SpeedupMap& m) { return m.title == title; });
        if (map == out.end()) {
            out.emplace_back().title = title;
            map = out.end() - 1;
        }
        const std::size_t r = indexIn(map->shapes, fmt::format("{}x{}x{}", row.m, row.n, row.k));
        const std::size_t c = indexIn(map->columns, row.backend + " " + row.spec);
        cells.push_back({std::size_t(map - out.begin()), r, c, row.speedup.value_or(kNaN)});
    }
    for (auto& map : out) map.cells.assign(map.shapes.size() * map.columns.size(), kNaN);
    for (const auto& cell : cells) {
        double& value = out[cell.map].cells[cell.row * out[cell.map].columns.size() + cell.column];
        if (std::isnan(value) || cell.value > value) value = cell.value; // the best variant of each
    }
    std::erase_if(out, [](const SpeedupMap& map) {
        return std::none_of(map.cells.begin(), map.cells.end(), [](double v) { return std::isfinite(v); });
    });
    return out;
}

namespace {

std::vector<Plot> latencyPlots(const BenchmarkRun& run) {
    std::vector<Plot> out;
    for (const auto& chart : latencyCharts(run.rows)) {
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
        plot.cellTitle = "Speed-up x, below 1 is slower";
        plot.emptyTitle = "no speed-up: see the table";
        out.push_back(std::move(plot));
    }
    return out;
}

/// Points of one backend by intensity under its measured ceilings; both axes logarithmic.
std::vector<Plot> rooflines(const BenchmarkRun& run) {
    std::vector<Plot> out;
    std::map<std::pair<std::string, std::string>, std::map<std::string, double>> ceilings;
    for (const auto& roof : run.roofs)
        if (roof.perSecond > 0) ceilings[{roof.backend, roof.device}][roof.kind] = roof.perSecond;
    for (const auto& [where, kinds] : ceilings) {
        if (!kinds.count("read_bw")) continue;
        std::map<std::string, std::map<double, double>> points;
        for (const auto& row : run.rows)
            if (row.backend == where.first && row.device == where.second && row.gflops && row.intensity &&
                row.cache == CacheState::Cold)
                points[seriesOf(row)][std::log10(*row.intensity)] = *row.gflops;
        if (points.empty()) continue;
        Plot plot;
        plot.kind = Plot::Kind::Lines;
        plot.title = fmt::format("Roofline of {} {}, cold cache", where.first, where.second);
        plot.xTitle = "log10 of operations a byte", plot.yTitle = "GFLOP/s";
        plot.logY = true;
        for (const auto& [kind, peak] : kinds) {
            if (kind == "read_bw") continue;
            auto& line = plot.series.emplace_back();
            line.name = kind + " roof";
            for (int step = -8; step <= 32; ++step) {
                const double x = step / 8.0;
                line.x.push_back(x);
                line.y.push_back(std::min(peak, kinds.at("read_bw") * std::pow(10.0, x)) / 1e9);
            }
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
    for (auto& plot : rooflines(run)) out.push_back(std::move(plot));
    if (out.size() > kMostPlots) out.resize(kMostPlots);
    return out;
}

} // namespace qs
