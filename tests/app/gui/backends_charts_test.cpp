// SPDX-License-Identifier: GPL-3.0-or-later
// The charts of the backends page for given rows, without a benchmark.
#include "app/gui/pages/backends/backends_rows.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/heat_map.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <cmath>

using namespace qs;
using namespace qs::gui;

namespace {

BenchmarkRow timedRow(const char* backend, const char* spec, std::int64_t m, double ns, const char* variant = "v") {
    BenchmarkRow row;
    row.question.backend = backend;
    row.question.device = "cpu:0";
    row.question.spec = spec;
    row.question.op = "matmul_t";
    row.question.act = "f32";
    row.question.m = m;
    row.question.n = row.question.k = 256;
    row.answer.variant.id = variant;
    row.verdict.status = RowState::Ok;
    row.timing.medianNs = ns;
    row.timing.ciNs = Interval{ns * 0.99, ns * 1.01};
    row.timing.gflops = 2.0 * double(m) * 256 * 256 / ns;
    row.timing.intensity = double(m) * 4;
    return row;
}

} // namespace

class TestBackendsCharts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    void latencyTakesTheFastestVariantAndMarksCrossovers() {
        BenchRows rows = {timedRow("cpu", "nf4", 1, 100), timedRow("cpu", "nf4", 1, 80, "w"),
                          timedRow("cpu", "nf4", 64, 9000), timedRow("openblas", "f32", 1, 300),
                          timedRow("openblas", "f32", 64, 5000)};
        rows[1].answer.variant.approx = true; // faster, but not what the format says
        const auto charts = latencyCharts(rows, LatencyLines::Fastest);
        QCOMPARE(charts.size(), std::size_t(1));
        QCOMPARE(charts[0].series[0].rows, (std::vector<std::size_t>{0, 2}));
        const auto picture = latencyPicture(charts[0], rows);
        QCOMPARE(picture.series[0].points[0], QPointF(0, 0.1)); // log2 1, 100 ns in µs
        QCOMPARE(picture.series[0].points[1].x(), 6.0);
        QCOMPARE(picture.crossovers.size(), 1);
        QCOMPARE(picture.crossovers[0].x, 6.0);
        QVERIFY(picture.crossovers[0].label.contains(QLatin1String("openblas f32")));
        int bands = 0;
        for (const auto& series : picture.series) {
            if (series.style != PlotSeries::Style::Band) continue;
            ++bands;
            QCOMPARE(series.lower.size(), series.points.size());
            QVERIFY(series.lower[0].y() < series.points[0].y());
        }
        QCOMPARE(bands, 2);
        QCOMPARE(latencyCharts(rows, LatencyLines::Variants)[0].series.size(), std::size_t(3));
        // Overlapping intervals name no winner.
        rows[4].timing.ciNs = Interval{4000, 9500};
        QVERIFY(latencyPicture(latencyCharts(rows, LatencyLines::Fastest)[0], rows).crossovers.isEmpty());
        // Nor does a time that was taken on a busy machine, which says so under the mouse.
        rows[4].timing.ciNs = Interval{4950, 5050};
        rows[2].timing.busy = true;
        const auto busy = latencyPicture(latencyCharts(rows, LatencyLines::Fastest)[0], rows);
        QVERIFY(busy.crossovers.isEmpty());
        QVERIFY2(busy.series[0].notes[1].contains(QLatin1String("busy machine")), qPrintable(busy.series[0].notes[1]));
        QVERIFY(!busy.series[0].notes[0].contains(QLatin1String("busy")));
    }

    void noBandOverAPointWithoutInterval() {
        BenchRows rows;
        for (const int m : {1, 2, 4, 8, 16}) rows.push_back(timedRow("cpu", "nf4", m, 100.0 * m));
        rows[2].timing.ciNs.reset();
        QVector<QVector<double>> bands;
        for (const auto& series : latencyPicture(latencyCharts(rows)[0], rows).series) {
            if (series.style != PlotSeries::Style::Band) continue;
            auto& at = bands.emplaceBack();
            for (const auto& point : series.points) at << point.x();
        }
        QCOMPARE(bands, (QVector<QVector<double>>{{0, 1}, {3, 4}}));
    }

    void speedupsAreRatiosAboutOne() {
        BenchRows rows = {timedRow("cpu", "nf4", 1, 100), timedRow("cpu", "nf4", 4, 100),
                          timedRow("cpu", "int8", 1, 100), timedRow("cpu", "nf4", 1, 110, "w")};
        rows[0].verdict.speedup = 4;
        rows[1].verdict.speedup = 0.5;
        rows[3].verdict.speedup = 30; // by chance, of few rounds: it is slower than row 0
        const auto maps = speedupMaps(rows);
        QCOMPARE(maps.size(), std::size_t(1));
        QCOMPARE(maps[0].rows, (std::vector<int>{0, 2, 1, -1})); // the least median of each cell; int8 was not tested at M = 4
        const auto map = speedupPicture(maps[0]);
        QCOMPARE(map.rows, 2);
        QCOMPARE(map.columns, 2);
        QCOMPARE(map.values[0], 2.F);
        QCOMPARE(map.values[2], -1.F);
        QVERIFY(std::isnan(map.values[1])); // unknown speed-up: hatched, not 1x
        QVERIFY(std::isnan(map.values[3]));
        QVERIFY(!map.absent[1] && map.absent[3]);
        HeatMap view;
        view.setData(map);
        QVERIFY(view.describe(0, 0).contains(QStringLiteral("4.00×")));
        QVERIFY(view.dataAsTsv().contains(QStringLiteral("0.5")));
    }

    /// A baseline whose threads waited for each other is no baseline: hatched, the row has the figure and the reason.
    void busyRowsAreNoSpeedups() {
        BenchRows rows = {timedRow("cpu", "nf4", 1, 100), timedRow("cpu", "nf4", 4, 100),
                          timedRow("cpu", "nf4", 4, 90, "w")};
        for (auto& row : rows) row.verdict.speedup = 2;
        rows[0].verdict.speedup = 2994, rows[0].timing.busy = true;
        rows[1].verdict.speedup = 3000, rows[1].timing.busy = true;
        auto maps = speedupMaps(rows);
        QCOMPARE(maps.size(), std::size_t(1));
        QVERIFY(std::isnan(maps[0].cells[0]) && maps[0].rows[0] == 0);
        QCOMPARE(maps[0].cells[1], 2.0); // another variant was timed while the machine was idle
        QCOMPARE(maps[0].busy, 1);
        const auto map = speedupPicture(maps[0]);
        QVERIFY(std::isnan(map.values[0]) && !map.absent[0]);
        rows.resize(1);
        maps = speedupMaps(rows);
        QCOMPARE(maps.size(), std::size_t(1)); // the map is there and says why it is empty
        QCOMPARE(maps[0].busy, 1);
    }

    void rooflineHasItsRidgeWhereTheRoofsMeet() {
        BenchRows rows = {timedRow("cpu", "nf4", 4, 100), timedRow("cpu", "nf4", 1, 100),
                          timedRow("cpu", "nf4", 1, 80, "w"), timedRow("cpu", "nf4", 1, 50, "warm")};
        rows[3].question.cache = CacheState::Warm;
        const std::vector<MeasuredRoof> roofs = {{"cpu", "cpu:0", "read_bw", 40e9, 3, {}},
                                                 {"cpu", "cpu:0", "f32", 400e9, 3, {}},
                                                 {"cuda", "0", "f32", 4e12, 3, {}}};
        const auto lines = rooflines(rows, roofs);
        QCOMPARE(lines.size(), std::size_t(1));
        QCOMPARE(lines[0].points.size(), std::size_t(3)); // warm rows are not limited by the memory roof
        QCOMPARE(lines[0].points[2].row, std::size_t(0)); // sorted by arithmetic intensity
        const auto series = rooflinePicture(lines[0], rows);
        QCOMPARE(series.size(), 3);                     // the roof, the line through the fastest rows, the dots
        QCOMPARE(series[0].points[1], QPointF(1, 400)); // 400 GFLOP/s at 40 GB/s: ten operations per byte
        QCOMPARE(series[1].points.size(), 2);
        QCOMPARE(series[1].points[0].y(), *rows[2].timing.gflops);
        QCOMPARE(series[2].points.size(), 3);
    }

    /// Roofs at the same height share one label. Others have their own.
    void roofsThatCoincideShareTheirName() {
        const BenchRows rows = {timedRow("cpu", "nf4", 1, 100)};
        const std::vector<MeasuredRoof> roofs = {{"cpu", "cpu:0", "read_bw", 40e9, 3, {}},
                                                 {"cpu", "cpu:0", "f32", 300e9, 3, {}},
                                                 {"cpu", "cpu:0", "i8", 500e9, 3, {}},
                                                 {"cpu", "cpu:0", "bf16", 520e9, 3, {}}};
        const auto series = rooflinePicture(rooflines(rows, roofs)[0], rows);
        QStringList named;
        int lines = 0;
        for (const auto& one : series) {
            if (one.style == PlotSeries::Style::Line) ++lines;
            if (one.naming == PlotSeries::Naming::AtEnd) named << one.name;
        }
        QCOMPARE(lines, 3); // all roofs are drawn
        QCOMPARE(named, (QStringList{QStringLiteral("bf16, i8 roof"), QStringLiteral("f32 roof")}));
    }

    /// The details of a row are in the unit of the charts and of the table.
    void timesAreInOneUnit() {
        auto row = timedRow("cpu", "nf4", 1, 12'345);
        row.answer.kernel.prepareNs = 2e6;
        const QString text = rowText(row);
        QVERIFY2(text.contains(QStringLiteral("12.35 µs")) && text.contains(QStringLiteral("2000 µs, once")),
                 qPrintable(text));
        QVERIFY2(!text.contains(QStringLiteral(" ns")), qPrintable(text));
    }
};

QS_TEST(TestBackendsCharts)
#include "backends_charts_test.moc"
