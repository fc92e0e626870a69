// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_tensor_plots.h"

#include "app/gui/error_text.h"
#include "core/base/text.h"
#include "core/eval/trust/trust_tables.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <map>

namespace qs::gui {
namespace {

QString phrase(const char* text) { return QCoreApplication::translate("evidence_tensor_plots", text); }
QString figureText(double value, int digits) { return QString::fromStdString(significantText(value, digits)); }

} // namespace

std::vector<const eval::SensitivityRow*> rankedRows(const std::vector<eval::SensitivityRow>& rows,
                                                    const std::string& spec) {
    std::vector<const eval::SensitivityRow*> out;
    for (const auto& row : rows)
        if (row.isTensor && row.spec == spec) out.push_back(&row);
    std::ranges::stable_sort(out, [](const auto* a, const auto* b) {
        const auto x = a->rank(), y = b->rank();
        if (!x || !y) return x && !y;
        return x->mean > y->mean;
    });
    return out;
}

RankedBar barOf(const eval::SensitivityRow& row, const QString& name) {
    RankedBar bar;
    bar.name = name;
    const auto rank = row.rank();
    bar.value = rank ? rank->mean : std::nan("");
    if (!rank) {
        bar.text = phrase("not measured");
        bar.reason = QString::fromStdString(oneSentence(row.reason));
        return bar;
    }
    bar.text = figureText(rank->mean, 3);
    if (rank->byChunk) bar.text += QStringLiteral(" ± ") + errorText(*rank->byChunk);
    return bar;
}

GridPicture gridPicture(const RoleGrid& grid, const std::vector<double>& values, const QString& unit) {
    GridPicture out;
    auto& map = out.map;
    map.rows = grid.rows, map.columns = grid.columns;
    map.rowLabels = grid.roles, map.columnLabels = grid.layers;
    map.rowsAreRoles = true;
    map.xTitle = grid.layers.isEmpty() ? phrase("tensors in reading order") : phrase("layer");
    map.yTitle = grid.roles.isEmpty() ? QString() : phrase("role");
    map.rowScale = grid.roles.isEmpty() ? grid.columns : 1;
    map.unit = unit;
    for (const auto& cell : grid.cells) {
        int shown = -1;
        for (const int weight : cell) {
            const double value = values[std::size_t(weight)];
            if (shown < 0 || std::isnan(values[std::size_t(shown)]) || value > values[std::size_t(shown)])
                shown = weight;
        }
        map.values.append(shown < 0 ? std::nanf("") : float(values[std::size_t(shown)]));
        map.absent.append(shown < 0);
        out.weights.push_back(shown);
    }
    return out;
}

QVector<PlotSeries> predictionPlot(const std::vector<eval::SensitivityRow>& rows, const std::string& spec) {
    std::map<std::string, double> predicted;
    for (const auto& row : rows)
        if (row.spec == spec && row.predicted) predicted[row.unit] = row.predicted->mean;
    std::vector<std::tuple<double, double, QString>> found;
    double most = 0;
    for (const auto& row : rows) {
        const auto at = predicted.find(row.unit);
        if (row.spec != spec || at == predicted.end() || !eval::isAlone(row)) continue;
        found.emplace_back(at->second, row.divergence->mean, QString::fromStdString(row.unit));
        most = std::max({most, at->second, row.divergence->mean});
    }
    if (found.empty()) return {};
    std::ranges::sort(found);
    PlotSeries equal, dots;
    equal.name = phrase("equal");
    equal.style = PlotSeries::Style::Line;
    equal.token = 4, equal.dash = 1;
    equal.naming = PlotSeries::Naming::AtEnd;
    equal.points = {{0, 0}, {most, most}};
    dots.name = phrase("tensors");
    dots.style = PlotSeries::Style::Dots;
    for (const auto& [x, y, name] : found) {
        dots.points.append({x, y});
        dots.notes.append(name);
    }
    return {equal, dots};
}

} // namespace qs::gui
