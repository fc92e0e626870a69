// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends_rows.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace qs::gui {
namespace {

QString str(const std::string& text) { return QString::fromStdString(text); }
bool timed(const BenchmarkRow& row) { return row.status == RowState::Ok && row.medianNs; }
QString who(const BenchmarkRow& row) { return str(row.backend) + u' ' + str(row.spec); }

// Kernels in micro- to milliseconds: one unit for a whole chart keeps lines comparable.
constexpr double kMicro = 1e-3;

/// The rows to draw, by the name of their line.
std::map<QString, std::vector<const BenchmarkRow*>> lines(const std::vector<BenchmarkRow>& rows, const QString& group,
                                                         bool all) {
    std::map<QString, std::vector<const BenchmarkRow*>> out;
    for (const auto& row : rows) {
        if (!timed(row) || latencyGroup(row) != group) continue;
        if (all) {
            out[who(row) + u' ' + str(row.variant)].push_back(&row);
            continue;
        }
        if (row.approx || row.experimental) continue;
        auto& line = out[who(row)];
        const auto same =
            std::find_if(line.begin(), line.end(), [&](const BenchmarkRow* other) { return other->m == row.m; });
        if (same == line.end())
            line.push_back(&row);
        else if (*row.medianNs < *(*same)->medianNs)
            *same = &row;
    }
    for (auto& [name, line] : out)
        std::sort(line.begin(), line.end(), [](const auto* a, const auto* b) { return a->m < b->m; });
    return out;
}

/// Where another line is fastest than at the M before, with disjoint intervals.
QVector<PlotMarker> crossovers(const std::map<QString, std::vector<const BenchmarkRow*>>& all) {
    std::map<std::int64_t, std::vector<std::pair<QString, const BenchmarkRow*>>> byM;
    for (const auto& [name, line] : all)
        for (const auto* row : line) byM[row->m].emplace_back(name, row);
    QVector<PlotMarker> out;
    QString leader;
    for (auto& [m, entries] : byM) {
        std::sort(entries.begin(), entries.end(),
                  [](const auto& a, const auto& b) { return *a.second->medianNs < *b.second->medianNs; });
        if (entries.size() > 1 && compareTimes(entries[0].second->ciNs, entries[1].second->ciNs) != Verdict::Faster)
            continue; // nobody leads here
        if (!leader.isEmpty() && leader != entries[0].first)
            out << PlotMarker{std::log2(double(m)), QObject::tr("from M = %1: %2").arg(m).arg(entries[0].first), true,
                              false, 4};
        leader = entries[0].first;
    }
    return out;
}

} // namespace

QString latencyGroup(const BenchmarkRow& row) {
    const auto* op = findBenchOp(row.op);
    return QStringLiteral("%1   %2 × %3   act %4   %5")
        .arg(op ? QString::fromUtf8(op->title) : str(row.op))
        .arg(row.n)
        .arg(row.k)
        .arg(str(row.act), QString::fromUtf8(cacheText(row.cache)));
}

QStringList latencyGroups(const std::vector<BenchmarkRow>& rows) {
    QStringList out;
    for (const auto& row : rows)
        if (const auto group = latencyGroup(row); timed(row) && !out.contains(group)) out << group;
    return out;
}

LatencyPicture latencyPicture(const std::vector<BenchmarkRow>& rows, const QString& group, bool all) {
    const auto drawn = lines(rows, group, all);
    LatencyPicture picture;
    QVector<PlotSeries> bands;
    int token = 0;
    for (const auto& [name, line] : drawn) {
        PlotSeries series{name, PlotSeries::Style::Line, token % 5, {}, {}, {}};
        PlotSeries band{{}, PlotSeries::Style::Band, token % 5, {}, {}, {}};
        ++token;
        for (const auto* row : line) {
            const double x = std::log2(double(row->m));
            series.points << QPointF(x, *row->medianNs * kMicro);
            QString note = str(row->variant);
            if (row->ciNs) {
                band.points << QPointF(x, row->ciNs->high * kMicro);
                band.lower << QPointF(x, row->ciNs->low * kMicro);
                note = QStringLiteral("[%1, %2]  ")
                           .arg(row->ciNs->low * kMicro, 0, 'g', 4)
                           .arg(row->ciNs->high * kMicro, 0, 'g', 4) +
                       note;
            }
            series.notes << note;
            ++picture.measured;
        }
        PlotSeries dots = series;
        dots.style = PlotSeries::Style::Dots;
        dots.name.clear();
        dots.notes.clear();
        picture.series << series;
        if (band.points.size() > 1) bands << band;
        if (line.size() == 1) bands << dots; // a line of one point is not seen
    }
    picture.series += bands;
    picture.crossovers = crossovers(drawn);
    return picture;
}

SpeedupPicture speedupPicture(const std::vector<BenchmarkRow>& rows) {
    SpeedupPicture picture;
    QStringList shapes, columns;
    std::map<std::pair<int, int>, int> best;
    for (int i = 0; i < int(rows.size()); ++i) {
        const auto& row = rows[std::size_t(i)];
        const auto* op = findBenchOp(row.op);
        if (!op || !op->product || row.approx || row.baseline) continue;
        const QString shape = QStringLiteral("%1×%2×%3").arg(row.m).arg(row.n).arg(row.k);
        QString column = who(row);
        if (row.act != "f32") column += u' ' + str(row.act);
        if (row.cache == CacheState::Warm) column += QStringLiteral(" warm");
        if (!shapes.contains(shape)) shapes << shape;
        if (!columns.contains(column)) columns << column;
        const std::pair at(int(shapes.indexOf(shape)), int(columns.indexOf(column)));
        const auto known = best.find(at);
        const auto ratio = [&](int index) { return rows[std::size_t(index)].speedup.value_or(-1); };
        if (known == best.end() || ratio(i) > ratio(known->second)) best[at] = i;
    }
    auto& map = picture.map;
    map.rows = int(shapes.size());
    map.columns = int(columns.size());
    map.rowLabels = shapes;
    map.columnLabels = columns;
    map.xTitle = QObject::tr("backend and spec");
    map.yTitle = QObject::tr("M × N × K");
    map.unit = QObject::tr("speed-up over f32 sgemm");
    map.diverging = map.ratio = map.printValues = true;
    map.lowIsGood = false;
    map.values.fill(float(std::nan("")), qsizetype(map.rows) * map.columns);
    picture.best.assign(std::size_t(map.rows) * std::size_t(map.columns), -1);
    for (const auto& [at, index] : best) {
        const auto cell = at.first * map.columns + at.second;
        picture.best[std::size_t(cell)] = index;
        if (const auto& ratio = rows[std::size_t(index)].speedup; ratio && *ratio > 0)
            map.values[cell] = float(std::log2(*ratio));
    }
    return picture;
}

QStringList deviceKeys(const std::vector<BenchmarkRow>& rows) {
    QStringList out;
    for (const auto& row : rows)
        if (const QString key = str(row.backend) + u'/' + str(row.device); timed(row) && !out.contains(key)) out << key;
    // The yardstick is timed first, but it is not what one looks for.
    std::stable_partition(out.begin(), out.end(), [](const QString& key) { return !key.startsWith(u"openblas"); });
    return out;
}

RooflinePicture rooflinePicture(const std::vector<BenchmarkRow>& rows, const std::vector<MeasuredRoof>& roofs,
                                const QString& device) {
    RooflinePicture picture;
    std::map<QString, PlotSeries> dots;
    double least = 0.25, most = 64;
    for (int i = 0; i < int(rows.size()); ++i) {
        const auto& row = rows[std::size_t(i)];
        if (!timed(row) || !row.intensity || !row.gflops || row.cache == CacheState::Warm) continue;
        if (str(row.backend) + u'/' + str(row.device) != device) continue;
        auto& series = dots[str(row.spec)];
        series.points << QPointF(std::log10(*row.intensity), *row.gflops);
        series.notes << QStringLiteral("M = %1  %2").arg(row.m).arg(str(row.variant));
        least = std::min(least, *row.intensity / 2);
        most = std::max(most, *row.intensity * 2);
        picture.rowOf << i;
    }
    if (dots.empty()) return picture;
    double bandwidth = 0;
    for (const auto& roof : roofs)
        if (str(roof.backend) + u'/' + str(roof.device) == device && roof.kind == "read_bw") bandwidth = roof.perSecond;
    for (const auto& roof : roofs) {
        if (str(roof.backend) + u'/' + str(roof.device) != device || roof.kind == "read_bw" || roof.perSecond <= 0)
            continue;
        PlotSeries line{QObject::tr("%1 roof").arg(str(roof.kind)), PlotSeries::Style::Line, 4, {}, {}, {}};
        const double ridge = bandwidth > 0 ? roof.perSecond / bandwidth : least;
        if (bandwidth > 0 && ridge > least) line.points << QPointF(std::log10(least), least * bandwidth / 1e9);
        line.points << QPointF(std::log10(std::max(ridge, least)), roof.perSecond / 1e9);
        line.points << QPointF(std::log10(std::max(most, ridge * 2)), roof.perSecond / 1e9);
        picture.series << line;
    }
    int token = 0;
    for (auto& [name, series] : dots) {
        series.name = name;
        series.style = PlotSeries::Style::Dots;
        series.token = token++ % 4;
        picture.series << series;
    }
    return picture;
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
        line(QObject::tr("95 % CI"), QStringLiteral("%1 to %2 ns").arg(row.ciNs->low, 0, 'f', 0).arg(row.ciNs->high, 0, 'f', 0));
    line(QObject::tr("samples"), row.samples.empty() ? QString() : QString::number(row.samples.size()));
    line(QObject::tr("speed-up"), row.speedup ? figure(row.speedup, QStringLiteral("×")) : str(row.speedupReason));
    line(QObject::tr("kernel NMSE"), figure(row.nmse, {}));
    line(QObject::tr("format NMSE"), figure(row.formatNmse, {}));
    line(QObject::tr("prepare"), figure(row.prepareNs, QStringLiteral(" ns")));
    line(QObject::tr("command"), str(row.command));
    return text;
}

} // namespace qs::gui
