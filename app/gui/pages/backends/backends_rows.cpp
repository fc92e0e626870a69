// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_rows.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace qs::gui {
namespace {

QString str(const std::string& text) { return QString::fromStdString(text); }

// Kernels take microseconds to milliseconds: one unit for the whole chart keeps lines comparable.
constexpr double kMicro = 1e-3;
constexpr int kColours = 4, kMuted = 4; // tokens of a PlotSeries
constexpr double kSameRoof = 1.6;       // roofs whose ratio is below this share one name in a chart

QString opTitle(const BenchmarkRow& row) {
    const auto* op = findBenchOp(row.question.op);
    return op ? QString::fromUtf8(op->title) : str(row.question.op);
}

/// A colour for each spec and a dash pattern for each backend, equal in all charts: in the order of the run, baselines
/// last.
struct Look {
    std::vector<std::string> specs, backends;
    explicit Look(const BenchRows& rows) {
        for (const bool baseline : {false, true})
            for (const auto& row : rows) {
                if (!row.timing.medianNs || row.answer.variant.baseline != baseline) continue;
                place(specs, row.question.spec);
                place(backends, row.question.backend);
            }
    }
    static int place(std::vector<std::string>& list, const std::string& text) {
        const auto at = std::find(list.begin(), list.end(), text);
        if (at == list.end()) list.push_back(text);
        return int(std::find(list.begin(), list.end(), text) - list.begin());
    }
    int colour(const BenchmarkRow& row) { return place(specs, row.question.spec) % kColours; }
    int dash(const BenchmarkRow& row) { return place(backends, row.question.backend); }
};

/// The same points as dots or as another line, without a name.
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
        .arg(row.question.n)
        .arg(row.question.k)
        .arg(str(row.question.act), QString::fromUtf8(cacheText(row.question.cache)));
}

QString speedupGroup(const BenchmarkRow& row) {
    return QStringLiteral("%1   act %2   %3")
        .arg(opTitle(row), str(row.question.act), QString::fromUtf8(cacheText(row.question.cache)));
}

QString deviceKey(const BenchmarkRow& row) { return str(row.question.backend) + u'/' + str(row.question.device); }

LatencyPicture latencyPicture(const LatencyChart& chart, const BenchRows& rows) {
    LatencyPicture picture;
    QVector<PlotSeries> bands, dots;
    Look look(rows);
    for (const auto& line : chart.series) {
        const auto& first = rows[line.rows.front()];
        PlotSeries series{str(line.name), PlotSeries::Style::Line, look.colour(first), {}, {}};
        series.dash = look.dash(first);
        const PlotSeries noBand = unnamed(series, PlotSeries::Style::Band);
        PlotSeries band = noBand;
        const auto endBand = [&] { // no band at a point without an interval
            if (band.points.size() > 1) bands << band;
            band = noBand;
        };
        for (std::size_t i = 0; i < line.m.size(); ++i) {
            const double x = std::log2(line.m[i]);
            series.points << QPointF(x, line.ns[i] * kMicro);
            QString note = str(rows[line.rows[i]].answer.variant.id);
            if (std::isfinite(line.low[i])) {
                band.points << QPointF(x, line.high[i] * kMicro);
                band.lower << QPointF(x, line.low[i] * kMicro);
                note = QStringLiteral("[%1, %2]  ")
                           .arg(line.low[i] * kMicro, 0, 'g', 4)
                           .arg(line.high[i] * kMicro, 0, 'g', 4) +
                       note;
            } else
                endBand();
            if (rows[line.rows[i]].timing.busy) note += QObject::tr("  on a busy machine: too slow");
            series.notes << note;
        }
        picture.series << series;
        dots << unnamed(series, PlotSeries::Style::Dots);
        endBand();
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
    for (const auto& column : from.columns) map.columnLabels << str(column).replace(u' ', u'\n');
    map.xTitle = QObject::tr("backend and spec");
    map.yTitle = QObject::tr("M × N × K");
    map.unit = QObject::tr("speed-up");
    map.diverging = map.ratio = map.printValues = true;
    map.lowIsGood = false;
    map.hi = std::log2(from.reach), map.lo = -map.hi;
    for (std::size_t i = 0; i < from.cells.size(); ++i) {
        map.values << (from.cells[i] > 0 ? float(std::log2(from.cells[i])) : std::numeric_limits<float>::quiet_NaN());
        map.absent << (from.rows[i] < 0);
    }
    return map;
}

QVector<PlotSeries> rooflinePicture(const Roofline& roofline, const BenchRows& rows) {
    QVector<PlotSeries> out;
    double least = 0.25, most = 64;
    Look look(rows);
    using Way = std::map<std::int64_t, QPointF>; // the fastest variant for each M
    std::vector<std::pair<QString, PlotSeries>> dots;
    std::map<std::tuple<QString, std::int64_t, std::int64_t>, Way> ways;
    for (const auto& point : roofline.points) {
        const auto& row = rows[point.row];
        const QPointF at(std::log10(point.intensity), point.gflops);
        const QString spec = str(row.question.spec);
        auto own = std::ranges::find_if(dots, [&](const auto& one) { return one.first == spec; });
        if (own == dots.end())
            own = dots.insert(own, {spec, {spec, PlotSeries::Style::Dots, look.colour(row), {}, {}}});
        own->second.points << at;
        own->second.notes << QStringLiteral("M = %1  %2 × %3  %4")
                                 .arg(row.question.m)
                                 .arg(row.question.n)
                                 .arg(row.question.k)
                                 .arg(str(row.answer.variant.id));
        if (!row.answer.variant.approx && !row.answer.variant.experimental) {
            auto& best = ways[{spec, row.question.n, row.question.k}].try_emplace(row.question.m, at).first->second;
            if (at.y() > best.y()) best = at;
        }
        least = std::min(least, point.intensity / 2);
        most = std::max(most, point.intensity * 2);
    }
    const auto ridge = [&](double peak) {
        return roofline.bytesPerSecond > 0 ? peak / roofline.bytesPerSecond : least;
    };
    for (const auto& [kind, peak] : roofline.peaks) most = std::max(most, ridge(peak) * 2);
    // Roofs close to each other share a label, above the highest of them.
    auto peaks = roofline.peaks;
    std::ranges::stable_sort(peaks, [](const auto& a, const auto& b) { return a.second > b.second; });
    double named = 0; // the roof that has the label
    for (const auto& [kind, peak] : peaks) {
        QStringList names;
        for (const auto& other : peaks)
            if (other.second <= peak && other.second > peak / kSameRoof) names << str(other.first);
        PlotSeries line{
            QObject::tr("%1 roof").arg(names.join(QStringLiteral(", "))), PlotSeries::Style::Line, kMuted, {}, {}};
        const bool apart = named == 0 || peak <= named / kSameRoof;
        line.naming = apart ? PlotSeries::Naming::AtEnd : PlotSeries::Naming::None;
        if (apart) named = peak;
        if (ridge(peak) > least) line.points << QPointF(std::log10(least), least * roofline.bytesPerSecond / 1e9);
        line.points << QPointF(std::log10(std::max(ridge(peak), least)), peak / 1e9);
        line.points << QPointF(std::log10(most), peak / 1e9);
        out << line;
    }
    for (const auto& [spec, series] : dots) {
        for (const auto& [key, way] : ways) {
            if (std::get<0>(key) != spec || way.size() < 2) continue;
            PlotSeries line{{}, PlotSeries::Style::Line, series.token, {}, {}};
            line.naming = PlotSeries::Naming::None;
            for (const auto& [m, at] : way) {
                line.points << at;
                line.labels << (line.labels.isEmpty() ? QObject::tr("M = %1").arg(m) : QString::number(m));
            }
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
    const auto micros = [](double ns) { return str(significantText(ns * kMicro, 4)) + QStringLiteral(" µs"); };
    line(QObject::tr("variant"), str(row.answer.variant.id));
    line(QObject::tr("status"), QString::fromUtf8(rowStateText(row.verdict.status)).replace(u'_', u' '));
    line(QObject::tr("reason"), str(row.verdict.reason));
    line(QObject::tr("hint"), str(row.verdict.hint));
    line(QObject::tr("command"), str(row.question.command));
    line(QObject::tr("in words"), str(row.answer.variant.title));
    line(QObject::tr("arithmetic"), str(row.answer.variant.note));
    line(QObject::tr("problem"), QObject::tr("%1   M %2  N %3  K %4   x %5%6")
                                     .arg(opTitle(row))
                                     .arg(row.question.m)
                                     .arg(row.question.n)
                                     .arg(row.question.k)
                                     .arg(row.question.act.empty() ? QStringLiteral("–") : str(row.question.act),
                                          row.question.bias ? QObject::tr(", bias") : QString()));
    line(QObject::tr("spec"), str(row.question.specFull.empty() ? row.question.spec : row.question.specFull));
    line(QObject::tr("weights of"),
         row.question.tensor.empty() ? QObject::tr("seeded random values") : str(row.question.tensor));
    QString device = str(row.answer.deviceName.empty() ? row.question.device : row.answer.deviceName);
    if (!device.contains(str(row.answer.deviceArch))) device += u' ' + str(row.answer.deviceArch);
    line(QObject::tr("device"),
         device.isEmpty() ? QString() : QObject::tr("%1, %2 threads asked for").arg(device).arg(row.question.threads));
    if (row.timing.medianNs) {
        line(QObject::tr("median"),
             micros(*row.timing.medianNs) + (row.timing.ciNs ? QObject::tr(", 95 % CI %1 to %2")
                                                                   .arg(micros(row.timing.ciNs->low))
                                                                   .arg(micros(row.timing.ciNs->high))
                                                             : QObject::tr(", no interval: fewer than 20 samples")));
        line(
            QObject::tr("samples"),
            QObject::tr("%1 in %2 rounds by the %3 clock, %4 each")
                .arg(row.timing.samples.empty() ? QObject::tr("not kept,") : QString::number(row.timing.samples.size()))
                .arg(row.timing.roundMedians.size())
                .arg(row.timing.clock == 2 ? QObject::tr("device's") : QObject::tr("host's"))
                .arg(row.timing.chain == 1 ? QObject::tr("one run") : QObject::tr("%1 runs").arg(row.timing.chain)));
        line(QObject::tr("cache"),
             row.question.cache == CacheState::Cold
                 ? QObject::tr("cold, %1 copies of the weights in turn").arg(row.timing.bufferSets)
                 : QObject::tr("warm, one copy of the weights"));
        line(QObject::tr("speed-up"),
             row.timing.busy       ? QObject::tr("busy: the ratio of such a time means nothing")
             : row.verdict.speedup ? figure(row.verdict.speedup, QStringLiteral("×")) +
                                         (row.verdict.speedupCi ? QObject::tr(", 95 % CI %1 to %2")
                                                                      .arg(row.verdict.speedupCi->low, 0, 'f', 2)
                                                                      .arg(row.verdict.speedupCi->high, 0, 'f', 2)
                                                                : QString())
                                   : str(row.verdict.speedupReason));
    }
    if (row.verdict.roofShare)
        line(QObject::tr("of the roof"),
             QObject::tr("%1 % of %2").arg(100 * *row.verdict.roofShare, 0, 'f', 1).arg(str(row.verdict.roofKind)));
    if (row.verdict.withoutCacheRoof)
        line(QObject::tr("cache roof"), QObject::tr("none: the backend does not measure a cache; held against "
                                                    "arithmetic alone"));
    if (row.check.nmse)
        line(QObject::tr("kernel NMSE"), QObject::tr("%1 (limit %2) over %3 of %4 outputs, and %5 small shapes")
                                             .arg(figure(row.check.nmse, {}), figure(row.check.nmseLimit, {}))
                                             .arg(row.check.checkedOutputs)
                                             .arg(row.check.outputs)
                                             .arg(row.check.checkedShapes));
    line(QObject::tr("format NMSE"), figure(row.check.formatNmse, {}));
    line(QObject::tr("prepare"),
         row.answer.kernel.prepareNs ? QObject::tr("%1, once").arg(micros(*row.answer.kernel.prepareNs)) : QString());
    return text;
}

} // namespace qs::gui
