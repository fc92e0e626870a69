// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/compare/compare_plots.h"

#include "core/base/text.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <cmath>

namespace qs::gui {

namespace {

constexpr int kBins = 256;

std::span<const float> levelsOf(const TensorAnalysis& analysis) { return analysis.levels; }

double outermost(const TensorAnalysis& analysis) {
    double most = 0;
    for (const float level : levelsOf(analysis)) most = std::max(most, double(std::abs(level)));
    return most > 0 ? most : 1;
}

/// As a density: the total area, tails included, is 1.
QVector<QPointF> densityOf(const FloatHistogram& histogram, const PlotExtent& extent, double unit, double* outside) {
    const auto bins = histogram.linear(extent.lo * unit, extent.hi * unit, kBins);
    const double total = double(histogram.total()), width = (extent.hi - extent.lo) / kBins;
    QVector<QPointF> points;
    points.reserve(kBins);
    for (int i = 0; i < kBins; ++i)
        points << QPointF(extent.lo + (i + 0.5) * width, total > 0 ? bins.counts[std::size_t(i)] / (total * width) : 0);
    if (outside) *outside = total > 0 ? (bins.below + bins.above) / total : 0;
    return points;
}

} // namespace

PlotExtent densityExtent(const TensorAnalysis& analysis) {
    const double unit = outermost(analysis);
    if (analysis.values().total() == 0) return {-1.05, 1.05};
    return {std::min(analysis.values().minimum() / unit, -1.0) - 0.05,
            std::max(analysis.values().maximum() / unit, 1.0) + 0.05};
}

Picture densityPicture(const TensorAnalysis& analysis, const PlotExtent& extent) {
    Picture picture;
    const double unit = outermost(analysis);
    PlotSeries series;
    series.name = QStringLiteral("weights");
    series.points = densityOf(analysis.values(), extent, unit, nullptr);
    picture.series << series;
    const auto levels = levelsOf(analysis);
    if (levels.size() <= 64)
        for (std::size_t code = 0; code < levels.size(); ++code)
            picture.markers << PlotMarker{levels[code] / unit,
                                          QStringLiteral("code %1: %2").arg(code).arg(double(levels[code]), 0, 'g', 6)};
    picture.note = levels.empty() ? QStringLiteral("not quantized") : QStringLiteral("%1 levels").arg(levels.size());
    return picture;
}

Picture errorPicture(const TensorAnalysis& analysis, const ErrorAxis& axis) {
    Picture picture;
    const auto plot = signedError(analysis, axis, false);
    picture.series << plot.series;
    picture.markers = plot.markers;
    // p50 and p95 are in the table and in the read-out.
    picture.note = QStringLiteral("p99 %1").arg(QString::fromStdString(significantText(analysis.p99, 3)));
    if (plot.below + plot.above > 0)
        picture.note += QStringLiteral("  %1 beyond").arg(shareText(plot.below + plot.above, plot.total));
    return picture;
}

Picture errorDifference(const TensorAnalysis& a, const TensorAnalysis& b, const ErrorAxis& axis) {
    Picture picture;
    const auto before = signedError(a, axis, false);
    auto series = signedError(b, axis, false).series;
    series.name = QStringLiteral("B − A");
    series.style = PlotSeries::Style::Line;
    for (qsizetype i = 0; i < series.points.size(); ++i) series.points[i].ry() -= before.series.points[i].y();
    picture.series << series;
    return picture;
}

HeatMapData blockMapCells(const TensorAnalysis& analysis, bool log) {
    const auto& map = analysis.blockMap();
    HeatMapData data;
    data.rows = map.rows;
    data.columns = map.columns;
    data.values = QVector<float>(map.nmse.begin(), map.nmse.end());
    data.xTitle = QStringLiteral("block of %1").arg(map.blockElements);
    data.yTitle = QStringLiteral("row");
    data.unit = QStringLiteral("NMSE");
    data.rowScale = map.rows > 0 ? double(map.tensorRows) / map.rows : 1;
    data.columnScale = map.columns > 0 ? double(map.blocksPerRow) / map.columns : 1;
    data.logColour = log;
    return data;
}

HeatMapData blockMapDifference(const TensorAnalysis& a, const TensorAnalysis& b) {
    const auto &x = a.blockMap(), &y = b.blockMap();
    const bool finer = y.columns > x.columns;
    HeatMapData data = blockMapCells(finer ? b : a, false);
    data.rows = std::max(x.rows, y.rows);
    data.diverging = true;
    data.unit = QStringLiteral("NMSE, B − A");
    data.rowScale = data.rows > 0 ? double(std::max(x.tensorRows, y.tensorRows)) / data.rows : 1;
    data.values.fill(float(std::nan("")), qsizetype(data.rows) * data.columns);
    if (x.rows == 0 || y.rows == 0) return data;
    // Positions are counted in elements of the row, so that a block of 64 is inside the block of 128 that covers it.
    const double width = double((finer ? y : x).blocksPerRow) / data.columns * double((finer ? y : x).blockElements);
    const auto at = [&](const BlockMap& map, int row, int column) {
        const double cell = double(map.blocksPerRow) / map.columns * double(map.blockElements);
        const int r = std::min(map.rows - 1, int((row + 0.5) * map.rows / data.rows));
        const int c = std::min(map.columns - 1, int((column + 0.5) * width / cell));
        return map.nmse[std::size_t(r) * std::size_t(map.columns) + std::size_t(c)];
    };
    for (int r = 0; r < data.rows; ++r)
        for (int c = 0; c < data.columns; ++c) data.values[qsizetype(r) * data.columns + c] = at(y, r, c) - at(x, r, c);
    return data;
}

std::vector<FigureRow> figureRows(const TensorAnalysis* a, const TensorAnalysis* b) {
    std::vector<FigureRow> rows;
    const auto add = [&](const ColumnInfo& column, std::optional<double> x, std::optional<double> y) {
        FigureRow row;
        row.title = headerText(column);
        row.tip = column.tip;
        const auto cell = [&](std::optional<double> v) -> Value {
            if (!v || !std::isfinite(*v)) return std::monostate{};
            if (column.show == Show::Integer || column.show == Show::Bytes) return std::int64_t(std::llround(*v));
            return *v;
        };
        row.a = cellText(column, cell(x));
        row.b = cellText(column, cell(y));
        if (x && y && std::isfinite(*x) && std::isfinite(*y)) {
            const double delta = *y - *x;
            // Column formats for sizes print no sign, so that the sign is added here.
            row.delta = (delta > 0 ? "+" : delta < 0 ? "−" : "") + cellText(column, cell(std::abs(delta)));
            if (column.better != Direction::None)
                row.verdict = delta == 0                                                    ? "same"
                              : (delta > 0) == (column.better == Direction::HigherIsBetter) ? "better"
                                                                                            : "worse";
        }
        rows.push_back(std::move(row));
    };
    const auto ok = [](const TensorAnalysis* row) { return row && row->status == Status::Ok; };
    const auto of = [&](const TensorAnalysis* row, auto figure) -> std::optional<double> {
        if (!ok(row)) return std::nullopt;
        return figure(*row);
    };
    add({"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter,
         "Stored bits per weight, padding and scales included"},
        of(a, [](const auto& row) { return row.bpw; }), of(b, [](const auto& row) { return row.bpw; }));
    add({"bytes_after", "Bytes", "", Show::Bytes, 2, Direction::LowerIsBetter, "Bytes that the default layout stores"},
        of(a, [](const auto& row) { return double(row.bytesAfter); }),
        of(b, [](const auto& row) { return double(row.bytesAfter); }));
    for (const auto& metric : metrics()) {
        add(metricColumn(metric), ok(a) ? metric.value(*a) : std::nullopt, ok(b) ? metric.value(*b) : std::nullopt);
    }
    return rows;
}

const Columns<FigureRow>& figureColumns() {
    static const Columns<FigureRow> columns = [] {
        Columns<FigureRow> list;
        const auto add = [&](const char* id, const char* title, const char* tip, std::string FigureRow::*field) {
            // The text consists of numbers: aligned as numbers.
            const auto show = std::string_view(id) == "figure" ? Show::Text : Show::Significant;
            list.push_back({{id, title, "", show, 0, Direction::None, tip},
                            [field](const FigureRow& row) { return Value(row.*field); }});
        };
        add("figure", "Figure", "The arrow points to the better direction", &FigureRow::title);
        add("a", "A", "Under spec A", &FigureRow::a);
        add("b", "B", "Under spec B", &FigureRow::b);
        add("delta", "B − A", "Difference", &FigureRow::delta);
        add("verdict", "B is", "Which way the difference goes", &FigureRow::verdict);
        return list;
    }();
    return columns;
}

} // namespace qs::gui
