// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/overview_rows.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace qs::gui {

namespace {

// In the order of the data flow; the first word that a role contains decides.
int roleRank(const std::string& role) {
    static constexpr std::pair<const char*, int> order[] = {
        {"embed", 20}, {"wte", 20}, {"wpe", 21},   {"lm_head", 30}, {"head", 30}, {"qkv", 1},
        {"query", 1},  {"q_", 1},   {"kv_", 2},    {"key", 2},      {"k_", 2},    {"value", 3},
        {"v_", 3},     {"o_", 4},   {"out", 4},    {"c_attn", 1},   {"attn", 4},  {"gate", 5},
        {"up", 6},     {"fc1", 6},  {"c_fc", 6},   {"w1", 5},       {"w3", 6},    {"down", 7},
        {"fc2", 7},    {"w2", 7},   {"c_proj", 7}, {"norm", 10},    {"ln_", 10},
    };
    for (const auto& [word, rank] : order)
        if (role.find(word) != std::string::npos) return rank;
    return 9;
}

QString briefName(QString name) {
    for (const auto ending : {u".weight", u".kernel"})
        if (name.endsWith(QStringView(ending))) name.chop(7);
    for (const auto beginning : {u"model.", u"transformer."})
        if (const QStringView wrapper(beginning); name.startsWith(wrapper)) name.remove(0, wrapper.size());
    return name;
}

constexpr std::size_t kMostOutside = 6; // rows for roles that no layer has; the others share one

} // namespace

RoleGrid roleGrid(const Weights& weights) {
    RoleGrid grid;
    struct Role {
        int rank;
        std::string name;
        auto operator<=>(const Role&) const = default;
    };
    std::vector<TensorPlace> places;
    std::map<Role, int> stacked, outside;
    std::map<int, int> columns; // layer -> column: only layers that occur
    for (const auto* tensor : weights) {
        places.push_back(placeOf(tensor->name));
        const auto& place = places.back();
        const Role role{roleRank(place.role), place.role};
        ++(place.layer >= 0 ? stacked : outside)[role];
        if (place.layer >= 0) columns.emplace(place.layer, 0);
        grid.names.push_back(QString::fromStdString(tensor->name));
        grid.shown.push_back(QString::fromStdString(escapeForPeople(tensor->name)));
        grid.brief.push_back(briefName(grid.shown.back()));
    }
    const int count = int(weights.size());
    grid.rowOf.resize(weights.size());
    grid.columnOf.resize(weights.size());
    // Names that a layer x role map cannot hold: no layers, or nearly a role for each tensor.
    if (columns.empty() || (stacked.size() + outside.size()) * (columns.size() + 1) > 20 * weights.size() + 1000) {
        grid.columns = std::max(1, int(std::ceil(std::sqrt(2.0 * count))));
        grid.rows = (count + grid.columns - 1) / grid.columns;
        for (int i = 0; i < count; ++i) {
            grid.rowOf[std::size_t(i)] = i / grid.columns;
            grid.columnOf[std::size_t(i)] = i % grid.columns;
        }
    } else {
        std::map<std::string, int> rows;
        for (const auto& [role, n] : stacked) rows.emplace(role.name, int(rows.size()));
        for (const auto& [role, n] : stacked) grid.roles << QString::fromStdString(escapeForPeople(role.name, 24));
        std::size_t own = 0;
        for (const auto& [role, n] : outside) {
            if (rows.contains(role.name)) continue;
            if (outside.size() > kMostOutside && ++own >= kMostOutside) {
                rows[role.name] = int(grid.roles.size());
                continue;
            }
            rows[role.name] = int(grid.roles.size());
            grid.roles << QString::fromStdString(escapeForPeople(role.name, 24));
        }
        if (own >= kMostOutside) grid.roles << QStringLiteral("others");
        grid.rows = int(grid.roles.size());
        for (auto& [layer, column] : columns) {
            column = int(grid.layers.size());
            grid.layers << QString::number(layer);
        }
        if (!outside.empty()) grid.layers << QStringLiteral("other");
        grid.columns = int(grid.layers.size());
        for (std::size_t i = 0; i < weights.size(); ++i) {
            grid.rowOf[i] = rows[places[i].role];
            grid.columnOf[i] = places[i].layer >= 0 ? columns[places[i].layer] : grid.columns - 1;
        }
    }
    grid.cells.resize(std::size_t(grid.rows) * std::size_t(grid.columns));
    for (int i = 0; i < count; ++i)
        grid.cells[std::size_t(grid.rowOf[std::size_t(i)] * grid.columns + grid.columnOf[std::size_t(i)])].push_back(i);
    return grid;
}

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

bool worse(const Metric& metric, double a, double b) {
    return metric.better == Direction::HigherIsBetter ? a < b : a > b;
}

namespace {
ColumnInfo columnOf(const Metric& metric) {
    return {metric.id, metric.title, metric.unit, metric.show, metric.decimals, metric.better, metric.formula};
}
} // namespace

QString metricText(const Metric& metric, double value) {
    if (std::isnan(value)) return QStringLiteral("not measured");
    const auto column = columnOf(metric);
    if (column.show == Show::Integer)
        return QString::fromStdString(cellText(column, std::int64_t(std::llround(value))));
    return QString::fromStdString(cellText(column, value));
}

QString metricTitle(const Metric& metric) { return QString::fromStdString(headerText(columnOf(metric))); }

RoleMap roleMap(const RoleGrid& grid, const ModelRows& rows, const Metric& metric) {
    RoleMap result;
    auto& map = result.map;
    map.rows = grid.rows;
    map.columns = grid.columns;
    map.rowLabels = grid.roles;
    map.columnLabels = grid.layers;
    map.xTitle = grid.layers.isEmpty() ? QStringLiteral("tensors in reading order") : QStringLiteral("layer");
    map.yTitle = grid.roles.isEmpty() ? QString() : QStringLiteral("role");
    map.rowScale = grid.columns; // of a map without labels: the number of a row's first tensor
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
            const double value = metricValue(metric, rows.value(grid.names[std::size_t(weight)]));
            if (std::isnan(value) || (!std::isnan(shown) && !worse(metric, value, shown))) continue;
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
    const int count = int(grid.names.size());
    std::vector<double> values;
    for (int i = 0; i < count; ++i) {
        values.push_back(metricValue(metric, rows.value(grid.names[std::size_t(i)])));
        result.order.push_back(i);
        result.measured += !std::isnan(values.back());
    }
    std::stable_sort(result.order.begin(), result.order.end(), [&](int a, int b) {
        const double x = values[std::size_t(a)], y = values[std::size_t(b)];
        if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
        return worse(metric, x, y);
    });
    for (const int i : result.order) {
        const double value = values[std::size_t(i)];
        RankedBar bar{grid.brief[std::size_t(i)], value, metricText(metric, value), {}};
        if (std::isnan(value)) bar.reason = missingReason(metric, rows.value(grid.names[std::size_t(i)]));
        result.bars.push_back(std::move(bar));
    }
    return result;
}

ErrorShare errorShare(const RoleGrid& grid, const ModelRows& rows) {
    std::vector<double> errors;
    double total = 0;
    for (const auto& name : grid.names)
        if (const auto row = rows.value(name); row && row->status == Status::Ok) {
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
    const std::size_t stride = std::max<std::size_t>(1, errors.size() / 1000); // charts take some 2,000 points
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
    for (const auto& name : grid.names)
        if (const auto row = rows.value(name); row && row->status == Status::Ok && row->sums.sw2 > 0) {
            if (row->sums.se2 > 0)
                values.push_back(10 * std::log10(row->sums.sw2 / row->sums.se2));
            else
                ++spread.exact;
        }
    spread.tensors = int(values.size());
    if (values.empty()) return spread;
    std::sort(values.begin(), values.end());
    spread.median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
    // Bins of a round width in dB, some 12 to 30 of them.
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

} // namespace qs::gui
