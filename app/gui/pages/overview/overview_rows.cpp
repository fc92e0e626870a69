// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/overview/overview_rows.h"

#include "app/gui/error_text.h"
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <map>

namespace qs::gui {

double metricValue(const Metric& metric, const AnalysisRow& row) {
    if (!row || row->status != Status::Ok) return std::nan("");
    const auto value = metric.value(*row);
    return value && std::isfinite(*value) ? *value : std::nan("");
}

QString missingReason(const Metric& metric, const AnalysisRow& row) {
    if (!row) return QStringLiteral("not measured yet");
    if (row->status != Status::Ok) return QString::fromStdString(row->reason);
    const char* why = metric.whyMissing ? metric.whyMissing(*row) : nullptr;
    return why ? QString::fromUtf8(why) : QStringLiteral("not measured");
}

QString metricText(const Metric& metric, double value) {
    if (std::isnan(value)) return QStringLiteral("not measured");
    const auto column = metricColumn(metric);
    if (column.show == Show::Integer)
        return QString::fromStdString(cellText(column, std::int64_t(std::llround(value))));
    return QString::fromStdString(cellText(column, value));
}

QString metricText(const Metric& metric, double value, const AnalysisRow& row) {
    if (row && row->status == Status::Kept) return QStringLiteral("kept");
    const auto error = row && metric.error && !std::isnan(value) ? metric.error(*row) : std::nullopt;
    const QString text = metricText(metric, value);
    return error ? text + QStringLiteral(" ± ") + errorText(*error) : text;
}

QString metricTitle(const Metric& metric) { return QString::fromStdString(headerText(metricColumn(metric))); }

QString mapTitle(const Metric& metric, bool hasLayers) {
    const auto word = [](const char* text) { return QCoreApplication::translate("overview_rows", text); };
    QString drawn = QString::fromUtf8(metric.title);
    if (*metric.unit) drawn += u' ' + QString::fromUtf8(metric.unit);
    if (metric.proxy || metric.onOutput) drawn = (metric.proxy ? word("%1, a proxy") : word("%1, measured")).arg(drawn);
    return (hasLayers ? word("%1: layer × role") : word("%1: tensor by tensor")).arg(drawn);
}

RoleMap roleMap(const RoleGrid& grid, const ModelRows& rows, const Metric& metric) {
    RoleMap result;
    auto& map = result.map;
    map.rows = grid.rows;
    map.columns = grid.columns;
    map.rowLabels = grid.roles;
    map.rowsAreRoles = true;
    map.columnLabels = grid.layers;
    map.xTitle = grid.layers.isEmpty() ? QStringLiteral("tensors in reading order") : QStringLiteral("layer");
    map.yTitle = grid.roles.isEmpty() ? QString() : QStringLiteral("role");
    map.rowScale = grid.columns; // for a map without labels: the number of the first tensor in a row
    if (!grid.roles.isEmpty()) map.rowScale = 1;
    map.unit = QString::fromUtf8(metric.title);
    if (*metric.unit) map.unit += u' ' + QString::fromUtf8(metric.unit);
    map.unit = map.unit.trimmed();
    map.lowIsGood = metric.better != Direction::HigherIsBetter;
    map.decimals = metric.show == Show::Fixed || metric.show == Show::Percent ? metric.decimals : -1;
    map.values.resize(qsizetype(grid.cells.size()));
    map.absent.resize(map.values.size());
    result.worst.resize(grid.cells.size());
    for (std::size_t cell = 0; cell < grid.cells.size(); ++cell) {
        double shown = std::nan("");
        int who = grid.cells[cell].empty() ? -1 : grid.cells[cell].front();
        for (const int weight : grid.cells[cell]) {
            const double value = metricValue(metric, rows.at(std::size_t(weight)));
            if (std::isnan(value) || (!std::isnan(shown) && !metric.isWorse(value, shown))) continue;
            shown = value;
            who = weight;
        }
        map.values[qsizetype(cell)] = float(shown);
        map.absent[qsizetype(cell)] = who < 0;
        result.worst[cell] = who;
    }
    return result;
}

Ranking ranking(const RoleGrid& grid, const ModelRows& rows, const Metric& metric) {
    Ranking result;
    const int count = int(grid.shown.size());
    for (int i = 0; i < count; ++i) {
        result.values.push_back(metricValue(metric, rows.at(std::size_t(i))));
        result.order.push_back(i);
        const double value = result.values.back();
        if (!std::isnan(value)) ++result.measured;
        result.extents.add(value, grid.brief[std::size_t(i)].size());
    }
    std::ranges::stable_sort(result.order, [&](int a, int b) {
        const double x = result.values[std::size_t(a)], y = result.values[std::size_t(b)];
        if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
        return metric.isWorse(x, y);
    });
    // The width of the values: measured for the first bars, also unmeasured ones, and for a sample of the others.
    for (std::size_t bar = 0; bar<result.order.size(); bar += result.order.size()> 2000 && bar >= 500 ? 97 : 1) {
        const auto weight = std::size_t(result.order[bar]);
        const QString text = metricText(metric, result.values[weight], rows.at(weight));
        result.extents.text = std::max(result.extents.text, text.size());
    }
    result.barOf.resize(result.order.size());
    for (int bar = 0; bar < count; ++bar) result.barOf[std::size_t(result.order[std::size_t(bar)])] = bar;
    return result;
}

ErrorShare errorShare(const RoleGrid& grid, const ModelRows& rows) {
    std::vector<double> errors;
    double total = 0;
    for (std::size_t i = 0; i < grid.shown.size(); ++i)
        if (const auto& row = rows.at(i); row && row->status == Status::Ok) {
            errors.push_back(row->sums.se2);
            total += row->sums.se2;
        }
    std::sort(errors.rbegin(), errors.rend());
    ErrorShare share;
    share.tensors = int(errors.size());
    share.curve.style = PlotSeries::Style::Area;
    share.curve.token = 2;
    share.curve.name = QStringLiteral("share of the squared error");
    if (!(total > 0)) return share;
    share.curve.points << QPointF(0, 0);
    double sum = 0;
    const std::size_t stride = std::max<std::size_t>(1, errors.size() / 1000); // a chart takes about 2,000 points
    for (std::size_t k = 0; k < errors.size(); ++k) {
        sum += errors[k];
        if (share.most == 0 && sum >= 0.8 * total) share.most = int(k) + 1;
        if ((k + 1) % stride == 0 || k + 1 == errors.size())
            share.curve.points << QPointF(double(k) + 1, 100 * sum / total);
    }
    return share;
}

SqnrSpread sqnrSpread(const RoleGrid& grid, const ModelRows& rows) {
    SqnrSpread spread;
    spread.bars.style = PlotSeries::Style::Bars;
    spread.bars.token = 2;
    spread.bars.name = QStringLiteral("tensors");
    std::vector<double> values;
    for (std::size_t i = 0; i < grid.shown.size(); ++i)
        if (const auto& row = rows.at(i); row && row->status == Status::Ok && row->sums.sw2 > 0) {
            if (const auto value = sqnrDb(row->sums.se2 / row->sums.sw2))
                values.push_back(*value);
            else
                ++spread.exact;
        }
    spread.tensors = int(values.size());
    if (values.empty()) return spread;
    std::ranges::sort(values);
    spread.median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
    // Bins of a round width in dB, about 12 to 30 of them.
    const double range = values.back() - values.front();
    double width = 0.01;
    for (const double nice : {0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0})
        if (range / width > 30) width = nice;
    spread.lo = std::floor(values.front() / width) * width;
    const int bins = std::max(1, int(std::floor((values.back() - spread.lo) / width)) + 1);
    spread.hi = spread.lo + bins * width;
    std::vector<int> counts(std::size_t(bins), 0);
    for (const double v : values) ++counts[std::size_t(std::clamp(int((v - spread.lo) / width), 0, bins - 1))];
    for (int i = 0; i < bins; ++i) spread.bars.points << QPointF(spread.lo + (i + 0.5) * width, counts[std::size_t(i)]);
    return spread;
}

ByteShares byteShares(const Model& model, const Weights& weights, const ModelRows& rows, const RecipeSizes& sizes) {
    ByteShares shares;
    const auto keptBytes = [&](const TensorInfo& tensor) {
        return sizes.bytes.empty() ? storedBytes(tensor) : sizes.bytes[std::size_t(&tensor - model.tensors.data())];
    };
    std::map<std::string, std::uint64_t> before, kept, after;
    for (const auto& tensor : model.tensors) {
        before[tensor.typeId()] += storedBytes(tensor);
        if (!tensor.isWeight()) kept[tensor.typeId()] += keptBytes(tensor);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto& row = rows.at(i);
        if (!row)
            shares.pending += storedBytes(*weights[i]);
        else if (row->status == Status::Ok)
            after[row->specAsTyped] += row->bytesAfter;
        else
            kept[weights[i]->typeId()] += keptBytes(*weights[i]);
    }
    const auto add = [&shares](const QString& name, std::uint64_t bytes) {
        if (bytes > 0) shares.bars.push_back({name, double(bytes), QString::fromStdString(bytesText(bytes)), {}});
    };
    const auto named = [](const char* pattern, const std::string& what) {
        return QString::fromLatin1(pattern).arg(QString::fromStdString(what));
    };
    for (const auto& [dtype, bytes] : before) add(named("before: %1", dtype), bytes);
    for (const auto& [spec, bytes] : after) add(named("after: %1", spec), bytes);
    for (const auto& [dtype, bytes] : kept) add(named("after: %1, kept", dtype), bytes);
    add(QStringLiteral("not measured yet"), shares.pending);
    shares.before = model.totalBytes();
    for (const auto* part : {&after, &kept})
        for (const auto& [name, bytes] : *part) shares.after += bytes;
    return shares;
}

void OverviewPicture::work() {
    const auto& grid = layout->grid;
    map = roleMap(grid, rows, *metric);
    ranking = qs::gui::ranking(grid, rows, *metric);
    spread = sqnrSpread(grid, rows);
    share = errorShare(grid, rows);
    if (model) bytes = byteShares(*model, layout->weights, rows, recipe->sizes);
    for (std::size_t weight = 0; weight < layout->weights.size(); ++weight) {
        const auto& row = rows.at(weight);
        if (row && row->isLarger() && ++larger == 1)
            largest = grid.shown[weight] + u' ' + QString::fromStdString(row->larger);
        if (!row || row->status == Status::Ok) continue;
        if (row->status == Status::Kept) {
            ++kept;
            continue;
        }
        if (++refused == 1) refusal = grid.shown[weight] + QStringLiteral(": ") + missingReason(*metric, row);
    }
}

} // namespace qs::gui
