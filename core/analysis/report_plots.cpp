// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/report_plots.h"

#include "core/base/lists.h"
#include "core/quant/codebook/learn.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace qs {
namespace {

constexpr std::size_t kMostRoles = 64, kMostLayers = 256, kMostDrawnLevels = 32;

std::string titleOf(const Metric& metric) { return headerText(metricColumn(metric)); }

std::optional<double> valueOf(const AnalysisRow& row, const Metric& metric) {
    return row->status == Status::Ok ? metric.value(*row) : std::nullopt;
}

std::pair<double, double> rangeOf(const std::vector<double>& cells) {
    double low = INFINITY, high = -INFINITY;
    for (const double v : cells)
        if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
    return {low, high};
}

} // namespace

std::vector<Plot> placeMaps(const AnalysisPlan& plan, const RowsBySpec& specs, const Metric& metric) {
    std::map<int, std::size_t> layers;
    std::vector<std::string> roles; // in the order of the model
    std::vector<TensorPlace> places;
    for (const auto* tensor : plan.tensors) {
        places.push_back(placeOf(tensor->name));
        layers.emplace(places.back().layer, 0);
        if (!contains(roles, places.back().role) && roles.size() < kMostRoles) roles.push_back(places.back().role);
    }
    std::size_t column = 0;
    for (auto& [layer, index] : layers) index = column++;

    std::vector<Plot> plots;
    for (std::size_t s = 0; s < specs.size(); ++s) {
        Plot plot;
        plot.kind = Plot::Kind::HeatMap;
        plot.title = fmt::format("{} by layer and role, {}", metric.title, plan.specs[s].first);
        plot.xTitle = "layer", plot.yTitle = "role";
        plot.cellTitle = titleOf(metric);
        plot.cellDecimals = metric.decimals;
        plot.lowIsGood = metric.better != Direction::HigherIsBetter;
        plot.emptyTitle = "not measured or without error";
        plot.rowLabels = roles;
        const std::size_t columns = std::min(kMostLayers, layers.size());
        for (const auto& [layer, index] : layers)
            if (index < columns) plot.categories.push_back(layer < 0 ? "none" : std::to_string(layer));
        plot.cells.assign(roles.size() * columns, INFINITY); // no such tensor
        for (std::size_t t = 0; t < specs[s].size() && t < places.size(); ++t) {
            const auto role = std::find(roles.begin(), roles.end(), places[t].role);
            const std::size_t index = layers.at(places[t].layer);
            if (role == roles.end() || index >= columns) continue;
            double& cell = plot.cells[std::size_t(role - roles.begin()) * columns + index];
            const auto value = valueOf(specs[s][t], metric);
            if (!value)
                cell = std::isfinite(cell) ? cell : NAN;
            else if (!std::isfinite(cell) || metric.isWorse(*value, cell))
                cell = *value;
        }
        const auto [low, high] = rangeOf(plot.cells);
        if (low <= high) plots.push_back(std::move(plot));
    }
    // One scale for all where that leaves the differences inside each visible.
    double low = INFINITY, high = -INFINITY, widest = 0;
    for (const auto& plot : plots) {
        const auto [a, b] = rangeOf(plot.cells);
        low = std::min(low, a), high = std::max(high, b), widest = std::max(widest, b - a);
    }
    if (high - low <= 2 * widest)
        for (auto& plot : plots) plot.cellLow = low, plot.cellHigh = high;
    return plots;
}

std::vector<Plot> rankings(const AnalysisPlan& plan, const RowsBySpec& specs, const Metric& metric) {
    constexpr std::size_t most = 12;
    std::vector<Plot> plots;
    for (std::size_t s = 0; s < specs.size(); ++s) {
        std::vector<std::pair<double, const TensorAnalysis*>> ranked;
        for (const auto& row : specs[s])
            if (const auto value = valueOf(row, metric)) ranked.emplace_back(*value, row.get());
        std::ranges::stable_sort(ranked,
                                 [&](const auto& a, const auto& b) { return metric.isWorse(a.first, b.first); });
        if (ranked.empty() || !(ranked.front().first > 0)) continue; // nothing hurts
        Plot plot;
        plot.kind = Plot::Kind::Bars;
        plot.title = ranked.size() > most
                         ? fmt::format("The {} worst of {} tensors, {}", most, ranked.size(), plan.specs[s].first)
                         : fmt::format("All {} tensors, worst first, {}", ranked.size(), plan.specs[s].first);
        plot.xTitle = titleOf(metric);
        plot.color = 2;
        plot.namesTensors = true;
        auto& series = plot.series.emplace_back();
        series.name = plan.specs[s].first;
        for (std::size_t i = 0; i < ranked.size() && i < most; ++i) {
            plot.categories.push_back(ranked[i].second->tensor);
            series.y.push_back(ranked[i].first);
        }
        plots.push_back(std::move(plot));
    }
    return plots;
}

std::vector<Plot> distributions(const AnalysisPlan& plan, const RowsBySpec& specs, const Metric& metric) {
    std::vector<Plot> plots;
    for (std::size_t s = 0; s < specs.size(); ++s) {
        std::vector<double> values;
        for (const auto& row : specs[s])
            if (const auto value = valueOf(row, metric)) values.push_back(*value);
        if (values.empty()) continue;
        auto [low, high] = rangeOf(values);
        if (high - low < 1e-9 * std::max(1.0, std::fabs(high))) low -= 0.5, high += 0.5;
        const auto bins = std::clamp<std::size_t>(std::size_t(2 * std::sqrt(double(values.size()))), 8, 40);
        const double width = (high - low) / double(bins);
        Plot plot;
        plot.kind = Plot::Kind::Bars;
        plot.title = fmt::format("{} of {} tensors, {}", metric.title, values.size(), plan.specs[s].first);
        plot.xTitle = titleOf(metric), plot.yTitle = "tensors";
        auto& series = plot.series.emplace_back();
        series.name = plan.specs[s].first;
        series.y.assign(bins, 0);
        for (std::size_t b = 0; b < bins; ++b) series.x.push_back(low + width * double(b));
        for (const double v : values) ++series.y[std::min(bins - 1, std::size_t((v - low) / width))];
        plots.push_back(std::move(plot));
    }
    return plots;
}

std::vector<Plot> errorSpreads(const AnalysisPlan& plan, const RowsBySpec& specs, const PooledBySpec& pooled) {
    constexpr int bins = 128;
    std::vector<Plot> plots;
    for (std::size_t s = 0; s < specs.size(); ++s) {
        FloatHistogram errors = s < pooled.size() ? pooled[s]->error : FloatHistogram();
        double largest = 0;
        for (const auto& row : specs[s]) {
            if (row->status != Status::Ok) continue;
            errors.merge(row->errors());
            largest = std::max(largest, double(row->sums.maxAbs));
        }
        const auto axis = SymlogAxis::ofErrors(errors.absPercentile(95), largest);
        const double total = double(errors.total());
        if (total == 0 || !axis.on()) continue; // not kept, or exact
        const auto edges = axis.edges(std::max(largest, std::max(-errors.minimum(), errors.maximum())), bins);
        const auto binned = errors.binned(edges);

        Plot density;
        density.kind = Plot::Kind::Area;
        density.title = fmt::format("Signed error of all weights, {}", plan.specs[s].first);
        density.xTitle = fmt::format("error ŵ − w, linear within ±{:g}, logarithmic beyond", axis.linear);
        density.yTitle = fmt::format("share of weights % in each of {} bins", bins);
        density.symlogX = axis;
        density.color = 2;
        Plot cumulative = density;
        cumulative.kind = Plot::Kind::Lines;
        cumulative.title = fmt::format("Cumulative share of the errors, {}", plan.specs[s].first);
        cumulative.yTitle = "share of weights with an error of at most x, %";
        auto& area = density.series.emplace_back();
        auto& line = cumulative.series.emplace_back();
        area.name = line.name = "error";
        double sum = binned.below;
        line.x.push_back(edges.front()), line.y.push_back(100 * sum / total);
        for (std::size_t b = 0; b < binned.counts.size(); ++b) {
            sum += binned.counts[b];
            area.x.push_back(axis.value((axis.place(edges[b]) + axis.place(edges[b + 1])) / 2));
            area.y.push_back(100 * binned.counts[b] / total);
            line.x.push_back(edges[b + 1]), line.y.push_back(100 * sum / total);
        }
        for (const int percent : {50, 95, 99}) {
            const double size = errors.absPercentile(percent);
            for (const double at : {-size, size}) {
                density.verticals.push_back(at);
                density.verticalLabels.push_back(at > 0 ? fmt::format("p{}", percent) : "");
            }
        }
        plots.push_back(std::move(density));
        plots.push_back(std::move(cumulative));
    }
    return plots;
}

std::vector<Plot> codebooks(const AnalysisPlan& plan, const RowsBySpec& specs, const PooledBySpec& pooled) {
    std::vector<Plot> plots;
    for (std::size_t s = 0; s < specs.size(); ++s) {
        const auto levels = codeSetOf(plan.specs[s].second).levels;
        if (levels.empty() || isLearned(plan.specs[s].second)) continue; // each tensor has levels of its own
        FloatHistogram values = s < pooled.size() ? pooled[s]->value : FloatHistogram();
        std::vector<double> counts(levels.size(), 0);
        for (const auto& row : specs[s]) {
            if (row->status != Status::Ok) continue;
            values.merge(row->values());
            for (std::size_t c = 0; c < counts.size() && c < row->codeCounts.size(); ++c)
                counts[c] += double(row->codeCounts[c]);
        }
        const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
        if (all == 0 || values.total() == 0) continue;

        const double reach = values.absPercentile(99.9);
        const double low = std::min(double(levels.front()), -reach), high = std::max(double(levels.back()), reach);
        const auto bins = values.linear(low, high, 160);
        Plot density;
        density.kind = Plot::Kind::Area;
        density.title = fmt::format("Weights between the levels, {}", plan.specs[s].first);
        density.xTitle = "weight / scale", density.yTitle = "share of weights %";
        auto& area = density.series.emplace_back();
        area.name = "weights";
        for (std::size_t b = 0; b < bins.counts.size(); ++b) {
            area.x.push_back(bins.lo + bins.width() * (double(b) + 0.5));
            area.y.push_back(100 * bins.counts[b] / double(values.total()));
        }
        if (levels.size() <= kMostDrawnLevels) density.verticals.assign(levels.begin(), levels.end());
        plots.push_back(std::move(density));

        Plot share;
        share.kind = Plot::Kind::Bars;
        share.title = fmt::format("Use of the {} codes, {}", levels.size(), plan.specs[s].first);
        share.xTitle = "code", share.yTitle = "share of weights %";
        auto& bars = share.series.emplace_back();
        bars.name = "codes";
        for (std::size_t c = 0; c < counts.size(); ++c) {
            bars.x.push_back(double(c) - 0.5);
            bars.y.push_back(100 * counts[c] / all);
        }
        plots.push_back(std::move(share));
    }
    return plots;
}

} // namespace qs
