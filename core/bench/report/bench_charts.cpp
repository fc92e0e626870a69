// SPDX-License-Identifier: GPL-3.0-or-later
// Latency against M, speed-up by shape, and the roofline, computed from rows.
#include "core/bench/report/bench_charts.h"

#include "core/base/text.h"
#include "core/bench/run/opened.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace qs {
namespace {

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

std::string seriesOf(const BenchmarkRow& row, LatencyLines lines) {
    const bool variant = lines == LatencyLines::Variants && !row.answer.variant.id.empty();
    return fmt::format("{} {}{}", row.question.backend, row.question.spec, variant ? " " + row.answer.variant.id : "");
}
std::string placeOfRow(const BenchmarkRow& row) {
    return fmt::format("{}, {} activations, {} cache", row.question.op, row.question.act,
                       cacheText(row.question.cache));
}

struct Point {
    double m, ns, low, high;
    std::optional<Interval> ci; ///< nullopt if the time is too long: it can neither win nor lose
    std::size_t row;
};

std::vector<std::pair<double, std::string>>
crossoversOf(const std::map<double, std::vector<std::pair<std::string, Point>>>& byM) {
    std::vector<std::pair<double, std::string>> out;
    std::string leader;
    for (const auto& [m, points] : byM) {
        const auto best =
            std::ranges::min_element(points, [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
        if (leader.empty()) {
            leader = best->first;
            continue;
        }
        if (best->first == leader) continue;
        const auto old = std::ranges::find_if(points, [&](const auto& p) { return p.first == leader; });
        if (old != points.end() && compareTimes(best->second.ci, old->second.ci) != Verdict::Faster) continue;
        leader = best->first;
        out.emplace_back(m, leader);
    }
    return out;
}

/// Nine tenths of the cells lie within, and all but the farthest.
double reachOf(std::span<const double> cells) {
    std::vector<double> factors;
    for (const double one : cells)
        if (std::isfinite(one) && one > 0) factors.push_back(std::max(one, 1 / one));
    if (factors.empty()) return 2;
    std::ranges::sort(factors);
    const std::size_t n = factors.size();
    const std::size_t place = n < 3 ? n : std::min(n - 1, std::size_t(std::ceil(0.9 * double(n))));
    return std::max(2.0, factors[place - 1]);
}

} // namespace

std::vector<LatencyChart> latencyCharts(std::span<const BenchmarkRow> rows, LatencyLines lines) {
    std::vector<std::string> titles;
    std::map<std::string, std::map<std::string, std::map<double, Point>>> charts;
    std::map<std::string, std::vector<std::string>> order;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        if (!row.timing.medianNs || row.question.act.empty()) continue;
        if (lines == LatencyLines::Fastest && (row.answer.variant.approx || row.answer.variant.experimental)) continue;
        const std::string title =
            fmt::format("Latency against M, N = {}, K = {}, {}", row.question.n, row.question.k, placeOfRow(row));
        const std::string name = seriesOf(row, lines);
        if (!charts.count(title)) titles.push_back(title);
        auto& series = charts[title];
        if (!series.count(name)) order[title].push_back(name);
        const Point point{double(row.question.m),
                          *row.timing.medianNs,
                          row.timing.ciNs ? row.timing.ciNs->low : kNoFigure,
                          row.timing.ciNs ? row.timing.ciNs->high : kNoFigure,
                          row.timing.busy ? std::nullopt : row.timing.ciNs,
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
        double ns, value;
    };
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        if (row.question.act.empty() || row.question.device.empty() || row.answer.variant.approx ||
            row.answer.variant.experimental)
            continue;
        const std::string title = fmt::format("Speed-up over openblas f32, {}", placeOfRow(row));
        auto map = std::ranges::find_if(out, [&](const SpeedupMap& m) { return m.title == title; });
        if (map == out.end()) {
            out.emplace_back().title = title;
            map = out.end() - 1;
        }
        const std::size_t r =
            indexIn(map->shapes, fmt::format("{}x{}x{}", row.question.m, row.question.n, row.question.k));
        const std::size_t c = indexIn(map->columns, row.question.backend + " " + row.question.spec);
        // Threads that wait for each other on a busy machine make a baseline thousands of times as slow.
        cells.push_back({std::size_t(map - out.begin()), r, c, i,
                         row.timing.medianNs.value_or(std::numeric_limits<double>::infinity()),
                         row.timing.busy ? kNoFigure : row.verdict.speedup.value_or(kNoFigure)});
    }
    for (auto& map : out) {
        map.cells.assign(map.shapes.size() * map.columns.size(), kNoFigure);
        map.rows.assign(map.cells.size(), -1);
    }
    std::vector<std::vector<double>> least(out.size()); // nanoseconds
    for (std::size_t m = 0; m < out.size(); ++m) least[m].assign(out[m].cells.size(), INFINITY);
    for (const auto& cell : cells) {
        auto& map = out[cell.map];
        const std::size_t at = cell.shape * map.columns.size() + cell.column;
        // Not the largest ratio: a ratio of few rounds may be large by chance.
        if (map.rows[at] >= 0 && !(cell.ns < least[cell.map][at])) continue;
        least[cell.map][at] = cell.ns;
        map.cells[at] = cell.value;
        map.rows[at] = int(cell.row);
    }
    for (auto& map : out) map.reach = reachOf(map.cells);
    for (auto& map : out)
        map.busy = int(std::ranges::count_if(map.rows, [&](int row) {
            return row >= 0 && rows[std::size_t(row)].timing.busy && rows[std::size_t(row)].verdict.speedup;
        }));
    std::erase_if(out, [](const SpeedupMap& map) {
        return map.busy == 0 && std::ranges::none_of(map.cells, [](double v) { return std::isfinite(v); });
    });
    return out;
}

std::vector<Roofline> rooflines(std::span<const BenchmarkRow> rows, std::span<const MeasuredRoof> roofs) {
    std::vector<Roofline> out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        if (!row.timing.medianNs || !row.timing.gflops || !row.timing.intensity ||
            row.question.cache != CacheState::Cold)
            continue;
        auto at = std::ranges::find_if(out, [&](const Roofline& line) {
            return line.backend == row.question.backend && line.device == row.question.device;
        });
        if (at == out.end()) {
            at = out.emplace(out.end());
            at->backend = row.question.backend, at->device = row.question.device;
        }
        at->points.push_back({*row.timing.intensity, *row.timing.gflops, i});
    }
    for (auto& line : out) {
        std::ranges::stable_sort(line.points, [](const auto& a, const auto& b) { return a.intensity < b.intensity; });
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
