// SPDX-License-Identifier: GPL-3.0-or-later
// What is computed from the rows of a run with fakes: speed-ups, the printed table, the report.
#include "core/bench/report/bench_charts.h"
#include "core/bench/report/bench_report.h"
#include "core/bench/report/bench_table.h"
#include "core/bench/run/busy_rows.h"
#include "fake_world.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <cmath>

using namespace qs;
using namespace benchtest;

namespace {

std::string textOf(const Table& table) {
    std::string out;
    for (const auto& row : table.rows)
        for (std::size_t c = 0; c < row.size(); ++c) out += cellText(table.columns[c], row[c]) + '|';
    return out;
}

} // namespace

class RowsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void speedUps() {
        World world;
        world.addOpenblas(4e6);
        world.add("cpu", {variantOf("v", Fault::None, 1e6)});
        world.plan.specs = {{"nf4", *parseSpec("nf4")}};
        auto run = world.run();
        // The baseline is measured and shown though f32 was not asked for.
        const auto* base = find(run, "sgemm", "f32");
        QVERIFY(base && base->answer.variant.baseline && std::fabs(*base->verdict.speedup - 1) < 1e-9);
        const auto* row = find(run, "v", "nf4");
        QVERIFY(row->verdict.speedup && std::fabs(*row->verdict.speedup - 4) < 0.02 && row->verdict.speedupCi);
        QVERIFY(row->timing.medianNs && row->timing.ciNs && row->timing.ciNs->low <= *row->timing.medianNs &&
                *row->timing.medianNs <= row->timing.ciNs->high);
        QVERIFY(std::fabs(*row->timing.gflops - 2.0 * 2 * 300 * 320 / *row->timing.medianNs) < 1e-9);
        QVERIFY(std::fabs(*row->timing.weightGbps - 300 * (160 + 5 * 4) / *row->timing.medianNs) < 1e-9);
        QVERIFY(row->check.nmse && *row->check.nmse < 1e-12 && row->check.formatNmse && *row->check.formatNmse > 1e-3);
        QCOMPARE(row->check.checkedOutputs, std::uint64_t(600));
        QVERIFY(row->timing.samples.size() >= 20 && row->timing.samples.size() <= 2000 && row->answer.kernel.prepareNs);

        world.absent["openblas"] = {RowState::Unavailable, "libopenblas.so.0 is not installed"};
        run = world.run();
        row = find(run, "v", "nf4");
        QVERIFY(!row->verdict.speedup && row->verdict.speedupReason.find("libopenblas.so.0") != std::string::npos);
        QVERIFY(run.rows.front().verdict.status == RowState::Unavailable ||
                run.rows.back().verdict.status == RowState::Unavailable);
    }
    void oneBaselineRowForAllActivations() {
        World world;
        world.addOpenblas(4e6);
        world.plan.specs = {{"f32", *parseSpec("f32")}};
        world.plan.acts = {"f32", "bf16"};
        const auto run = world.run();
        int baselines = 0;
        for (const auto& row : run.rows) baselines += row.answer.variant.baseline && row.question.act == "f32";
        QCOMPARE(baselines, 1);
        for (const auto& row : run.rows) QVERIFY2(row.verdict.speedup, row.question.act.c_str());
    }
    void withoutBaseline() {
        World world;
        world.add("cpu", {variantOf("v")});
        const auto run = world.run();
        QVERIFY(!run.rows[0].verdict.speedup &&
                run.rows[0].verdict.speedupReason == "openblas is not part of this run");
    }
    void reported() {
        World world;
        world.addOpenblas(4e6);
        world.add("cpu", {variantOf("v", Fault::None, 1e6), variantOf("bad", Fault::NotANumber)});
        world.plan.shapes = {{1, 300, 320, {}}, {4, 300, 320, {}}};
        world.plan.artifacts = true;
        const auto run = world.run();
        QVERIFY(find(run, "v")->answer.artifacts.size() == 1 && find(run, "v")->answer.artifacts[0].first == "source");
        const auto charts = latencyCharts(run.rows);
        QCOMPARE(charts.size(), std::size_t(1));
        QCOMPARE(charts[0].series.size(), std::size_t(2));
        QCOMPARE(charts[0].series[0].m, (std::vector<double>{1, 4}));
        const auto maps = speedupMaps(run.rows);
        QVERIFY(maps.size() == 1 && maps[0].shapes.size() == 2 && maps[0].columns.size() == 3);
        const auto report = benchmarkReport(world.plan, run);
        QCOMPARE(report.data.rows.size(), run.rows.size());
        for (const auto* key : {"seed", "options", "governor", "affinity", "compiler", "cpu", "backend_cpu"})
            QVERIFY2(std::any_of(report.provenance.begin(), report.provenance.end(),
                                 [&](const auto& p) { return p.first == key; }),
                     key);
        for (const auto& writer : reportWriters()) QVERIFY2(writer.render(report).has_value(), writer.id);
        // A row without a time has no figures, and a missing figure is not 0.
        const auto json = *findReportWriter("json")->render(report);
        QVERIFY(json.find("\"roofs\": [") != std::string::npos);
        QVERIFY(json.find("\"median_ns\": 0,") == std::string::npos);
    }
    /// If threads waited for other programs there is no ratio: the table and the report say "busy" instead.
    void busyRowsHaveNoSpeedUp() {
        World world;
        world.addOpenblas(4e6);
        auto& fake = world.add("cpu", {variantOf("v", Fault::None, 1e6)});
        world.plan.specs = {{"nf4", *parseSpec("nf4")}, {"f32", *parseSpec("f32")}};
        const auto quiet = world.run();
        for (auto* one : {&fake, &world.prototypes.at("openblas")}) one->probeFactors.assign(2000, 0.5);
        const auto busy = world.run();
        for (const auto* run : {&quiet, &busy}) {
            const bool isBusy = run == &busy;
            const auto* row = find(*run, "v", "nf4");
            QVERIFY(row && row->timing.medianNs && row->timing.busy == isBusy);
            const auto table = benchTable(world.plan, run->rows, false);
            const auto report = *findReportWriter("html")->render(benchmarkReport(world.plan, *run));
            const std::string text = textOf(table);
            QVERIFY2((text.find("ok, busy") != std::string::npos) == isBusy, text.c_str());
            QVERIFY2((text.find("4.00") == std::string::npos) == isBusy, text.c_str());
            QCOMPARE(benchRemarks(run->rows).find("timed on a busy machine") != std::string::npos, isBusy);
            QCOMPARE(report.find(">busy<") != std::string::npos, isBusy);
            std::ptrdiff_t words = 0;
            for (std::size_t c = 0; c < table.columns.size(); ++c)
                for (const auto& cells : table.rows)
                    words += table.columns[c].id == "speedup_vs_f32" && cells[c] == Value(std::string("busy"));
            QCOMPARE(words, std::count_if(run->rows.begin(), run->rows.end(),
                                          [](const auto& one) { return one.timing.busy; }));
        }
    }
    /// Busy rows are timed again alone. No other row is replaced.
    void busyRowsTimedAgain() {
        World world;
        world.addOpenblas(4e6);
        world.add("cpu", {variantOf("v", Fault::None, 1e6)});
        world.add("other", {variantOf("w", Fault::None, 2e6)});
        world.plan.specs = {{"nf4", *parseSpec("nf4")}, {"f32", *parseSpec("f32")}};
        world.plan.shapes = {{1, 300, 320, {}}, {4, 300, 320, {}}};
        const auto whole = world.run();
        QVERIFY(!busyPart(world.plan, whole.rows));
        auto run = whole;
        auto at = std::find_if(run.rows.begin(), run.rows.end(), [](const auto& row) {
            return row.answer.variant.id == "v" && row.question.spec == "nf4" && row.question.m == 4;
        });
        QVERIFY(at != run.rows.end());
        at->timing.busy = true;
        at->timing.medianNs = 9e9;
        const auto part = busyPart(world.plan, run.rows);
        QVERIFY(part && part->specs.size() == 1 && part->specs[0].first == "nf4");
        QVERIFY(part->shapes.size() == 1 && part->shapes[0].m == 4);
        QVERIFY(part->backends.size() == 2 && part->backends[0].id == "openblas" && part->backends[1].id == "cpu");
        auto again = *runBenchmark(*part, {});
        QVERIFY(!again.rows.empty() && !again.roofs.empty());
        for (auto& roof : again.roofs) roof.perSecond /= 2;
        auto stillBusy = again;
        for (auto& row : stillBusy.rows) row.timing.busy = true;
        QCOMPARE(replaceBusy(run, stillBusy, {}), std::size_t(0));
        QCOMPARE(*at->timing.medianNs, 9e9);
        QCOMPARE(replaceBusy(run, again, {}), std::size_t(1));
        QVERIFY(!at->timing.busy && *at->timing.medianNs < 2e6 && std::fabs(*at->verdict.speedup - 4) < 0.05);
        QCOMPARE(run.rows.size(), whole.rows.size());
        for (std::size_t i = 0; i < run.rows.size(); ++i)
            if (&run.rows[i] != &*at) QCOMPARE(run.rows[i].timing.samples, whole.rows[i].timing.samples);
        for (std::size_t i = 0; i < run.roofs.size(); ++i)
            QCOMPARE(run.roofs[i].perSecond, whole.roofs[i].perSecond); // the higher one
        QCOMPARE(run.provenance.back().first, std::string("timed_again"));
    }
    /// A backend without a cache roof: its warm times say so everywhere.
    void warmTimesWithoutACacheRoof() {
        World world;
        auto& fake = world.add("fake", {variantOf("v")});
        world.plan.caches = {CacheState::Cold, CacheState::Warm};
        for (const bool measured : {true, false}) {
            fake.cacheRoof = measured ? 1e13 : 0;
            const auto run = world.run();
            for (const auto& line : rooflines(run.rows, run.roofs)) // cold points have no cache roof line
                for (const auto& [kind, peak] : line.peaks) QVERIFY(kind == "f32" || kind == "bf16" || kind == "i8");
            QVERIFY(!run.rows[0].verdict.withoutCacheRoof && run.rows[1].verdict.withoutCacheRoof == !measured);
            const std::string text = textOf(benchTable(world.plan, run.rows, false)) + benchRemarks(run.rows),
                              report = *findReportWriter("html")->render(benchmarkReport(world.plan, run));
            QCOMPARE(text.find("f32, no cache roof") != std::string::npos, !measured);
            for (const auto* one : {&text, &report})
                QCOMPARE(one->find("1 warm row is not held against the speed of a cache") != std::string::npos,
                         !measured);
        }
    }
};

QS_TEST(RowsTest)
#include "rows_test.moc"
