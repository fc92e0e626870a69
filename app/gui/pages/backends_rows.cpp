// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends_rows.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace qs::gui {
namespace {

QString str(const std::string& text) { return QString::fromStdString(text); }

// Kernels in micro- to milliseconds: one unit for a whole chart keeps lines comparable.
constexpr double kMicro = 1e-3;
constexpr int kColours = 4, kMuted = 4; // tokens of a PlotSeries

QString opTitle(const BenchmarkRow& row) {
    const auto* op = findBenchOp(row.op);
    return op ? QString::fromUtf8(op->title) : str(row.op);
}

/// The same points as dots or as another line, without a name of their own.
PlotSeries unnamed(const PlotSeries& series, PlotSeries::Style style) {
    PlotSeries out = series;
    out.style = style;
    out.naming = PlotSeries::Naming::None;
    return out;
}

} // namespace

QString latencyGroup(const BenchmarkRow& row) {
    return QStringLiteral("%1   %2 × %3   act %4   %5")
        .arg(opTitle(row))
        .arg(row.n)
        .arg(row.k)
        .arg(str(row.act), QString::fromUtf8(cacheText(row.cache)));
}

QString speedupGroup(const BenchmarkRow& row) {
    return QStringLiteral("%1   act %2   %3").arg(opTitle(row), str(row.act), QString::fromUtf8(cacheText(row.cache)));
}

QString deviceKey(const BenchmarkRow& row) { return str(row.backend) + u'/' + str(row.device); }

LatencyPicture latencyPicture(const LatencyChart& chart, const BenchRows& rows) {
    LatencyPicture picture;
    QVector<PlotSeries> bands, dots;
    int token = 0;
    for (const auto& line : chart.series) {
        PlotSeries series{str(line.name), PlotSeries::Style::Line, token++ % kColours, {}, {}};
        PlotSeries band = unnamed(series, PlotSeries::Style::Band);
        for (std::size_t i = 0; i < line.m.size(); ++i) {
            const double x = std::log2(line.m[i]);
            series.points << QPointF(x, line.ns[i] * kMicro);
            QString note = str(rows[line.rows[i]].variant);
            if (std::isfinite(line.low[i])) {
                band.points << QPointF(x, line.high[i] * kMicro);
                band.lower << QPointF(x, line.low[i] * kMicro);
                note = QStringLiteral("[%1, %2]  ")
                           .arg(line.low[i] * kMicro, 0, 'g', 4)
                           .arg(line.high[i] * kMicro, 0, 'g', 4) +
                       note;
            }
            series.notes << note;
        }
        picture.series << series;
        dots << unnamed(series, PlotSeries::Style::Dots);
        if (band.points.size() > 1) bands << band;
    }
    picture.series += bands;
    picture.series += dots;
    for (const auto& [m, name] : chart.crossovers)
        picture.crossovers << PlotMarker{std::log2(m), QObject::tr("from M = %1: %2").arg(m).arg(str(name)), true, true,
                                         kMuted};
    return picture;
}

HeatMapData speedupPicture(const SpeedupMap& from) {
    HeatMapData map;
    map.rows = int(from.shapes.size());
    map.columns = int(from.columns.size());
    for (const auto& shape : from.shapes) map.rowLabels << str(shape).replace(u'x', QChar(0xd7));
    for (const auto& column : from.columns) map.columnLabels << str(column);
    map.xTitle = QObject::tr("backend and spec");
    map.yTitle = QObject::tr("M × N × K");
    map.unit = QObject::tr("speed-up");
    map.diverging = map.ratio = map.printValues = true;
    map.lowIsGood = false;
    for (std::size_t i = 0; i < from.cells.size(); ++i) {
        map.values << (from.cells[i] > 0 ? float(std::log2(from.cells[i])) : std::numeric_limits<float>::quiet_NaN());
        map.absent << (from.rows[i] < 0);
    }
    return map;
}

QVector<PlotSeries> rooflinePicture(const Roofline& roofline, const BenchRows& rows) {
    QVector<PlotSeries> out;
    double least = 0.25, most = 64;
    std::map<QString, PlotSeries> dots;
    std::map<std::tuple<QString, std::int64_t, std::int64_t>, std::map<double, double>> ways;
    for (const auto& point : roofline.points) {
        const auto& row = rows[point.row];
        const double x = std::log10(point.intensity);
        auto& series = dots[str(row.spec)];
        series.points << QPointF(x, point.gflops);
        series.notes << QStringLiteral("M = %1  %2 × %3  %4").arg(row.m).arg(row.n).arg(row.k).arg(str(row.variant));
        if (!row.approx && !row.experimental) {
            double& best = ways[{str(row.spec), row.n, row.k}][x];
            best = std::max(best, point.gflops);
        }
        least = std::min(least, point.intensity / 2);
        most = std::max(most, point.intensity * 2);
    }
    for (const auto& [kind, peak] : roofline.peaks) {
        PlotSeries line{QObject::tr("%1 roof").arg(str(kind)), PlotSeries::Style::Line, kMuted, {}, {}};
        line.naming = PlotSeries::Naming::AtEnd;
        const double ridge = roofline.bytesPerSecond > 0 ? peak / roofline.bytesPerSecond : least;
        if (ridge > least) line.points << QPointF(std::log10(least), least * roofline.bytesPerSecond / 1e9);
        line.points << QPointF(std::log10(std::max(ridge, least)), peak / 1e9);
        line.points << QPointF(std::log10(std::max(most, ridge * 2)), peak / 1e9);
        out << line;
    }
    int token = 0;
    for (auto& [spec, series] : dots) {
        series.name = spec;
        series.style = PlotSeries::Style::Dots;
        series.token = token++ % kColours;
        for (const auto& [key, way] : ways) {
            if (std::get<0>(key) != spec || way.size() < 2) continue;
            PlotSeries line{{}, PlotSeries::Style::Line, series.token, {}, {}};
            line.naming = PlotSeries::Naming::None;
            for (const auto& [x, y] : way) line.points << QPointF(x, y);
            out << line;
        }
        out << series;
    }
    return out;
}

QString rowText(const BenchmarkRow& row) {
    QString text;
    const auto line = [&](const QString& key, const QString& value) {
        if (!value.isEmpty()) text += key.leftJustified(13) + value + u'\n';
    };
    const auto figure = [](const std::optional<double>& value, const QString& unit) {
        return value ? str(significantText(*value, 4)) + unit : QString();
    };
    line(QObject::tr("variant"), str(row.variant));
    line(QObject::tr("in words"), str(row.variantTitle));
    line(QObject::tr("arithmetic"), str(row.variantNote));
    line(QObject::tr("device"), str(row.deviceName.empty() ? row.device : row.deviceName) + u' ' + str(row.deviceArch));
    line(QObject::tr("spec"), str(row.specFull.empty() ? row.spec : row.specFull));
    line(QObject::tr("tensor"), str(row.tensor));
    line(QObject::tr("status"), QString::fromUtf8(rowStateText(row.status)));
    line(QObject::tr("reason"), str(row.reason));
    line(QObject::tr("median"), figure(row.medianNs, QStringLiteral(" ns")));
    if (row.ciNs)
        line(QObject::tr("95 % CI"),
             QStringLiteral("%1 to %2 ns").arg(row.ciNs->low, 0, 'f', 0).arg(row.ciNs->high, 0, 'f', 0));
    line(QObject::tr("samples"), row.samples.empty() ? QString() : QString::number(row.samples.size()));
    line(QObject::tr("speed-up"), row.speedup ? figure(row.speedup, QStringLiteral("×")) : str(row.speedupReason));
    line(QObject::tr("kernel NMSE"), figure(row.nmse, {}));
    line(QObject::tr("format NMSE"), figure(row.formatNmse, {}));
    line(QObject::tr("prepare"), figure(row.prepareNs, QStringLiteral(" ns")));
    line(QObject::tr("command"), str(row.command));
    return text;
}

} // namespace qs::gui
