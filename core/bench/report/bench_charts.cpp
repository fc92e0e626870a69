// SPDX-License-Identifier: GPL-3.0-or-later
// Latency against M, speed-up by shape, and the roofline, out of rows.
#include "core/bench/report/bench_charts.h"

#include "core/bench/run/opened.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace qs {
namespace {

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

std::string seriesOf(const BenchmarkRow& row, LatencyLines lines) {
    const bool variant = lines == LatencyLines::Variants && !row.variant.empty();
    return fmt::format("{} {}{}", row.backend, row.spec, variant ? " " + row.variant : "");
}
std::string placeOfRow(const BenchmarkRow& row) {
    return fmt::format("{}, {} activations, {} cache", row.op, row.act, cacheText(row.cache));
}

struct Point {
    double m, ns, low, high;
    std::optional<Interval> ci; ///< none of a time that is too long: it makes no winner and no loser
    std::size_t row;
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

std::vector<LatencyChart> latencyCharts(std::span<const BenchmarkRow> rows, LatencyLines lines) {
    std::vector<std::string> titles;
    std::map<std::string, std::map<std::string, std::map<double, Point>>> charts;
    std::map<std::string, std::vector<std::string>> order;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        if (!row.medianNs || row.act.empty()) continue;
        if (lines == LatencyLines::Fastest && (row.approx || row.experimental)) continue;
        const std::string title = fmt::format("Latency against M, N = {}, K = {}, {}", row.n, row.k, placeOfRow(row));
        const std::string name = seriesOf(row, lines);
        if (!charts.count(title)) titles.push_back(title);
        auto& series = charts[title];
        if (!series.count(name)) order[title].push_back(name);
        const Point point{double(row.m),
                          *row.medianNs,
                          row.ciNs ? row.ciNs->low : kNoFigure,
                          row.ciNs ? row.ciNs->high : kNoFigure,
                          row.busy ? std::nullopt : row.ciNs,
                          i};
        const auto [at, first] = series[name].try_emplace(point.m, point);
        if (!first && point.ns < at->second.ns) at->second = point;
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
                series.rows.push_back(p.row);
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
        std::size_t map, shape, column, row;
        double value;
    };
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        if (row.act.empty() || row.device.empty() || row.approx || row.experimental) continue;
        const std::string title = fmt::format("Speed-up over openblas f32, {}", placeOfRow(row));
        auto map = std::find_if(out.begin(), out.end(), [&](const SpeedupMap& m) { return m.title == title; });
        if (map == out.end()) {
            out.emplace_back().title = title;
            map = out.end() - 1;
        }
        const std::size_t r = indexIn(map->shapes, fmt::format("{}x{}x{}", row.m, row.n, row.k));
        const std::size_t c = indexIn(map->columns, row.backend + " " + row.spec);
        // Threads that wait for each other beside something else make a yardstick thousands of times as slow.
        cells.push_back(
            {std::size_t(map - out.begin()), r, c, i, row.busy ? kNoFigure : row.speedup.value_or(kNoFigure)});
    }
    for (auto& map : out) {
        map.cells.assign(map.shapes.size() * map.columns.size(), kNoFigure);
        map.rows.assign(map.cells.size(), -1);
    }
    for (const auto& cell : cells) {
        auto& map = out[cell.map];
        const std::size_t at = cell.shape * map.columns.size() + cell.column;
        if (map.rows[at] >= 0 && !(std::isnan(map.cells[at]) || cell.value > map.cells[at])) continue;
        map.cells[at] = cell.value; // the best variant of each
        map.rows[at] = int(cell.row);
    }
    for (auto& map : out)
        map.busy = int(std::count_if(map.rows.begin(), map.rows.end(), [&](int row) {
            return row >= 0 && rows[std::size_t(row)].busy && rows[std::size_t(row)].speedup;
        }));
    std::erase_if(out, [](const SpeedupMap& map) {
        return map.busy == 0 &&
               std::none_of(map.cells.begin(), map.cells.end(), [](double v) { return std::isfinite(v); });
    });
    return out;
}

std::vector<Roofline> rooflines(std::span<const BenchmarkRow> rows, std::span<const MeasuredRoof> roofs) {
    std::vector<Roofline> out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        if (!row.medianNs || !row.gflops || !row.intensity || row.cache != CacheState::Cold) continue;
        auto at = std::find_if(out.begin(), out.end(), [&](const Roofline& line) {
            return line.backend == row.backend && line.device == row.device;
        });
        if (at == out.end()) {
            at = out.emplace(out.end());
            at->backend = row.backend, at->device = row.device;
        }
        at->points.push_back({*row.intensity, *row.gflops, i});
    }
    for (auto& line : out) {
        std::stable_sort(line.points.begin(), line.points.end(),
                         [](const auto& a, const auto& b) { return a.intensity < b.intensity; });
        for (const auto& roof : roofs) {
            if (roof.backend != line.backend || roof.device != line.device || roof.perSecond <= 0) continue;
            if (roof.kind == "read_bw")
                line.bytesPerSecond = roof.perSecond;
            else if (roof.kind != Roofs::kWarm) // points are of a cold cache
                line.peaks.emplace_back(roof.kind, roof.perSecond);
        }
    }
    return out;
}

} // namespace qs
