// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/speed_report.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::plan {
namespace {

constexpr std::size_t kMostPlots = 4, kMostCrossovers = 12;

Plot plotOf(const SpeedMap& map, const Objective& objective, std::int64_t m) {
    Plot plot;
    plot.kind = Plot::Kind::Scatter;
    plot.title = fmt::format("Speed, error and size at M = {}; the area of a mark is the size of the file", m);
    plot.xTitle = "measured time a token of all products, µs", plot.yTitle = errorTitle(map, objective);
    plot.joined = false;
    for (const SpeedPoint& point : map.points) {
        if (point.m != m || (map.isMeasured() && !point.kl)) continue;
        const std::string name = caseText(point.where);
        auto at = std::ranges::find_if(plot.series, [&](const auto& s) { return s.name == name; });
        if (at == plot.series.end()) {
            plot.series.emplace_back().name = name;
            at = plot.series.end() - 1;
        }
        at->x.push_back(point.nsPerToken() / 1e3), at->y.push_back(map.isMeasured() ? *point.kl : point.loss);
        at->radii.push_back(point.radius(map.mostBytes()));
        at->notes.push_back(fmt::format("{}, {}", point.specText, bytesText(point.bytes)));
    }
    return plot;
}

} // namespace

std::string errorTitle(const SpeedMap& map, const Objective& objective) {
    if (map.isMeasured()) return "measured KL, nats a token";
    return fmt::format("{}{}", objective.title, objective.isProxy ? " (a proxy)" : " (predicted)");
}

Section speedSection(const SpeedMap& map, const Objective& objective) {
    Section out;
    out.title = "Speed, error and size";
    out.brief = true;
    out.note = "Times are of the matrix products of one pass, summed from medians at this model's shapes; attention, "
               "norms and sampling come on top.";
    out.text = fmt::format("One spec for all tensors. The error is {}.", errorTitle(map, objective));
    std::size_t said = 0;
    for (const Crossover& one : map.crossovers)
        if (said++ < kMostCrossovers) out.text += ' ' + crossoverText(one);
    if (map.points.empty()) out.text += " No spec was timed at every shape of the model.";
    for (const std::string& remark : map.remarks) out.text += ' ' + remark;
    const auto ms = map.ms();
    for (std::size_t i = 0; i < ms.size() && i < kMostPlots; ++i)
        if (auto plot = plotOf(map, objective, ms[i]); !plot.series.empty()) out.plots.push_back(std::move(plot));
    if (!map.points.empty()) out.tables.push_back(makeTable("One spec everywhere", speedColumns(), map.points));
    if (!map.crossovers.empty())
        out.tables.push_back(makeTable("Where another spec becomes faster", crossoverColumns(), map.crossovers));
    return out;
}

} // namespace qs::plan
