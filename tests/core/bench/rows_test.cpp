// SPDX-License-Identifier: GPL-3.0-or-later
// What is computed from the rows of a run with fakes: speed-ups, the printed table, the report.
#include "core/bench/report/bench_charts.h"
#include "core/bench/report/bench_report.h"
#include "core/bench/report/bench_table.h"
#include "core/bench/report/figures.h"
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

BenchmarkRow timedRow(const char* spec, const char* variant, double ns, double speedup) {
    BenchmarkRow row;
    row.question.backend = "cpu", row.question.device = "cpu:0", row.question.spec = spec;
    row.question.op = "matmul_t", row.question.act = "f32";
    row.question.m = 4, row.question.n = 1536, row.question.k = 576;
    row.answer.variant.id = variant;
    row.verdict.status = RowState::Ok, row.verdict.speedup = speedup;
    row.timing.medianNs = ns;
    return row;
}

/// `rounds` rounds of `ns`, and before them `first` of `firstNs`.
BenchmarkRow::Timing timesOf(std::size_t first, double firstNs, std::size_t rounds, double ns) {
    BenchmarkRow::Timing out;
    out.roundMedians.assign(first, firstNs);
    out.roundMedians.insert(out.roundMedians.end(), rounds, ns);
    std::vector<double> finite;
    for (const double one : out.roundMedians)
        if (std::isfinite(one)) finite.push_back(one);
    out.medianNs = medianOf(finite);
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
    /// Seen on a busy machine: a variant of 50.9 us with a ratio of 242 by three rounds, and one of 24.5 us with 17.
    void aCellHasTheVariantWithTheLeastMedian() {
        std::vector<BenchmarkRow> rows = {timedRow("nf4", "gemm", 50.9e3, 242.5),
                                          timedRow("nf4", "gemv", 24.5e3, 16.95)};
        auto maps = speedupMaps(rows);
        QCOMPARE(maps[0].rows, std::vector<int>{1});
        QCOMPARE(maps[0].cells, std::vector<double>{16.95});
        // A busy row is too slow, never too fast: if it still has the least median, the cell is unknown.
        rows[1].timing.busy = true;
        maps = speedupMaps(rows);
        QVERIFY(maps[0].rows[0] == 1 && std::isnan(maps[0].cells[0]) && maps[0].busy == 1);
    }
    void oneCellDoesNotRuleTheColours() {
        std::vector<BenchmarkRow> rows;
        for (const double speedup : {1.2, 0.8, 1.5, 2.5, 3.0, 0.5, 4.0, 1.1})
            rows.push_back(timedRow(("int" + std::to_string(rows.size())).c_str(), "v", 1e3, speedup));
        QCOMPARE(speedupMaps(rows)[0].reach, 3.0); // the farthest alone may lie beyond
        rows.push_back(timedRow("nf4", "v", 1e3, 242.5));
        QCOMPARE(speedupMaps(rows)[0].reach, 4.0);
        QCOMPARE(speedupMaps(std::span(rows).first(1))[0].reach, 2.0);
    }
    /// A speed-up and the medians beside it may contradict each other only where the row is marked.
    void unsteadyRoundsAreMarked() {
        const double none = std::numeric_limits<double>::quiet_NaN();
        const auto judged = [](const BenchmarkRow::Timing& baseline, const BenchmarkRow::Timing& times) {
            BenchmarkRow base, row;
            base.timing = baseline, row.timing = times;
            fillSpeedup(row, base);
            return row;
        };
        const auto steady = judged(timesOf(0, 0, 25, 400e3), timesOf(0, 0, 25, 25e3));
        QVERIFY(!steady.timing.busy && *steady.verdict.speedup == 16 && steady.verdict.reason.empty());
        QCOMPARE(*steady.verdict.speedupCi, (Interval{16, 16}));

        const auto few = judged(timesOf(3, 12.3e6, 22, 412e3), timesOf(3, 50.9e3, 22, none));
        QVERIFY(few.timing.busy && !few.verdict.speedupCi && *few.verdict.speedup > 241);
        QVERIFY2(few.verdict.reason.find("3 rounds of both are too few") != std::string::npos,
                 few.verdict.reason.c_str());
        const auto contradicts = judged(timesOf(8, 12.3e6, 17, 412e3), timesOf(8, 50.9e3, 17, none));
        QVERIFY2(contradicts.timing.busy && contradicts.verdict.reason.find("by the medians") != std::string::npos,
                 contradicts.verdict.reason.c_str());
        const auto wide = judged(timesOf(12, 2e6, 13, 412e3), timesOf(0, 0, 25, 50e3));
        QVERIFY2(wide.timing.busy && wide.verdict.reason.find("lies between") != std::string::npos,
                 wide.verdict.reason.c_str());
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
