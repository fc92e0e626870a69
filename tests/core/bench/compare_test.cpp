// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/report/bench_report.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>

using namespace qs;

namespace {

BenchmarkRow rowOf(const char* variant, double ns, double half) {
    BenchmarkRow row;
    row.question.backend = "cpu", row.question.device = "cpu:0", row.question.spec = "nf4:block=64",
    row.question.op = "matmul_t", row.question.act = "f32";
    row.question.m = 1, row.question.n = 4096, row.question.k = 4096, row.question.threads = 2,
    row.answer.variant.id = variant;
    row.verdict.status = RowState::Ok;
    row.timing.medianNs = ns;
    row.check.nmse = 1e-12;
    for (int i = 0; i < 25; ++i) row.timing.samples.push_back(std::uint64_t(ns));
    if (half > 0) row.timing.ciNs = Interval{ns - half, ns + half};
    return row;
}

/// 25 rounds, evenly from 3 % below the median to 3 % above. The interval of the median is much narrower.
BenchmarkRow inRounds(const char* variant, double ns, double readGbps = 40, double f32Gflops = 400) {
    BenchmarkRow row = rowOf(variant, ns, ns / 500);
    row.timing.samples.clear();
    for (int r = 0; r < 25; ++r) {
        row.timing.roundMedians.push_back(ns * (0.97 + 0.06 * double((r * 7) % 25) / 24));
        row.timing.samples.push_back(std::uint64_t(row.timing.roundMedians.back()));
    }
    row.timing.probeRead = readGbps * 1e9;
    row.timing.probeF32 = f32Gflops * 1e9;
    return row;
}

std::string jsonOf(const std::vector<BenchmarkRow>& rows, const std::vector<MeasuredRoof>& roofs = {}) {
    BenchmarkRun run;
    run.rows = rows;
    run.roofs = roofs;
    run.provenance = {{"cpu", "Z80"}};
    return *findReportWriter("json")->render(benchmarkReport({}, run));
}

const ComparedRow& of(const std::vector<ComparedRow>& rows, const char* variant) {
    for (const auto& row : rows)
        if (row.key.ends_with(variant)) return row;
    qFatal("no row %s", variant);
}

} // namespace

class CompareTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void writtenAndReadAgain() {
        auto warm = rowOf("warm", 500, 10);
        warm.question.cache = CacheState::Warm;
        warm.question.bias = true;
        const auto read = parseBenchBaseline(jsonOf({rowOf("a", 1000.5, 20), warm}), "old.json");
        QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
        QCOMPARE(read->rows.size(), std::size_t(2));
        QCOMPARE(read->rows[0].key, rowKey(rowOf("a", 1, 1)));
        QCOMPARE(read->rows[1].key, rowKey(warm));
        QCOMPARE(*read->rows[0].medianNs, 1000.5);
        QCOMPARE(*read->rows[1].ciNs, (Interval{490, 510}));
        QCOMPARE(read->rows[0].samples, std::size_t(25));
        QCOMPARE(read->rows[0].status, std::string("ok"));
        QCOMPARE(read->provenance[0].second, std::string("Z80"));
    }
    void verdicts() {
        auto wrong = rowOf("wrong", 1, 0);
        wrong.timing.medianNs.reset();
        wrong.verdict.status = RowState::Wrong;
        const auto before =
            *parseBenchBaseline(jsonOf({rowOf("faster", 1000, 20), rowOf("slower", 1000, 20), rowOf("same", 1000, 50),
                                        rowOf("few", 1000, 0), rowOf("wrong", 1000, 20), rowOf("gone", 1000, 20)}),
                                "old.json");
        const auto rows =
            compareRuns(before, std::vector<BenchmarkRow>{rowOf("faster", 500, 10), rowOf("slower", 1100, 20),
                                                          rowOf("same", 960, 20), rowOf("few", 500, 10), wrong,
                                                          rowOf("new", 1000, 20)});
        QCOMPARE(rows.size(), std::size_t(7));
        QCOMPARE(of(rows, "faster").verdict, std::string("faster"));
        QCOMPARE(*of(rows, "faster").ratio, 2.0);
        QVERIFY(std::fabs(of(rows, "faster").ratioRange->low - 980.0 / 510) < 1e-12);
        QVERIFY(std::fabs(of(rows, "faster").ratioRange->high - 1020.0 / 490) < 1e-12);
        QCOMPARE(of(rows, "slower").verdict, std::string("slower"));
        QCOMPARE(of(rows, "same").verdict, std::string("within noise"));
        QCOMPARE(of(rows, "few").verdict, std::string("no interval"));
        QCOMPARE(of(rows, "wrong").verdict, std::string("now wrong"));
        QCOMPARE(of(rows, "new").verdict, std::string("only now"));
        QCOMPARE(of(rows, "gone").verdict, std::string("only before"));
        QVERIFY(!of(rows, "wrong").ratio && !of(rows, "gone").ratio);
    }
    /// Two runs of the same build differ by more than the interval of either. Machines differ too, from minute to
    /// minute.
    void driftIsNoChange_data() {
        QTest::addColumn<double>("ns"); // 1000 before, at 40 GB/s and 400 GFLOP/s
        QTest::addColumn<double>("read");
        QTest::addColumn<double>("f32");
        QTest::addColumn<QString>("verdict");
        QTest::newRow("as the rounds spread") << 970.0 << 40.0 << 400.0 << QStringLiteral("within noise");
        QTest::newRow("beyond the rounds") << 900.0 << 40.0 << 400.0 << QStringLiteral("faster");
        QTest::newRow("slower than the rounds") << 1100.0 << 40.0 << 400.0 << QStringLiteral("slower");
        QTest::newRow("as much as the memory") << 800.0 << 50.0 << 400.0 << QStringLiteral("within noise");
        QTest::newRow("as much as the clock") << 1250.0 << 40.0 << 320.0 << QStringLiteral("within noise");
        QTest::newRow("more than the memory") << 500.0 << 50.0 << 400.0 << QStringLiteral("faster");
        QTest::newRow("slower on a faster machine") << 1100.0 << 50.0 << 480.0 << QStringLiteral("slower");
    }
    void driftIsNoChange() {
        QFETCH(double, ns);
        QFETCH(double, read);
        QFETCH(double, f32);
        QFETCH(QString, verdict);
        const auto before = *parseBenchBaseline(jsonOf({inRounds("v", 1000)}), "old.json");
        QVERIFY(before.rows[0].roundsNs && *before.rows[0].probeRead == 40e9 && *before.rows[0].probeF32 == 400e9);
        const auto rows = compareRuns(before, std::vector{inRounds("v", ns, read, f32)});
        QCOMPARE(QString::fromStdString(rows[0].verdict), verdict);
        QCOMPARE(rows[0].drift->low, std::min({1.0, read / 40, f32 / 400}));
        QCOMPARE(rows[0].drift->high, std::max({1.0, read / 40, f32 / 400}));
        QVERIFY(rows[0].ratioRange->low < *rows[0].ratio && *rows[0].ratio < rows[0].ratioRange->high);
    }
    void theBaselineShowsTheMachine() {
        const auto baseline = [](double ns) {
            auto row = inRounds("sgemm", ns);
            row.question.backend = "openblas", row.question.spec = "f32", row.answer.variant.baseline = true;
            return row;
        };
        const auto before = *parseBenchBaseline(jsonOf({baseline(2000), inRounds("v", 1000)}), "old.json");
        const auto verdict = [&](double baselineNs, double ns) {
            return of(compareRuns(before, std::vector{baseline(baselineNs), inRounds("v", ns)}), "v").verdict;
        };
        QCOMPARE(verdict(2000, 700), std::string("faster"));
        QCOMPARE(verdict(1400, 700), std::string("within noise"));
        QCOMPARE(verdict(1400, 400), std::string("faster"));
        // It is no excuse for itself.
        const auto rows = compareRuns(before, std::vector{baseline(1400)});
        QCOMPARE(of(rows, "sgemm").verdict, std::string("faster"));
    }
    void roofsStandInForProbes() {
        const auto rooflike = [](double gbps) {
            return std::vector<MeasuredRoof>{{"cpu", "cpu:0", "read_bw", gbps * 1e9, 30, {}}};
        };
        auto old = inRounds("v", 1000), now = inRounds("v", 800);
        old.timing.probeRead.reset(), old.timing.probeF32.reset(), now.timing.probeRead.reset(),
            now.timing.probeF32.reset();
        const auto before = *parseBenchBaseline(jsonOf({old}, rooflike(40)), "old.json");
        QCOMPARE(compareRuns(before, std::vector{now}, rooflike(40))[0].verdict, std::string("faster"));
        QCOMPARE(compareRuns(before, std::vector{now}, rooflike(50))[0].verdict, std::string("within noise"));
        QVERIFY(!compareRuns(before, std::vector{now})[0].drift);
    }
    void roundsOfOlderFiles() {
        auto json = jsonOf({inRounds("v", 1000)});
        const auto at = json.find("\"round_medians_ns\"");
        QVERIFY(at != std::string::npos);
        json.replace(at, 18, "\"something_else_x\"");
        const auto read = *parseBenchBaseline(json, "old.json");
        const auto direct = *roundInterval(inRounds("v", 1000).timing.roundMedians);
        QVERIFY(std::fabs(read.rows[0].roundsNs->low - direct.low) <= 1);
        QVERIFY(std::fabs(read.rows[0].roundsNs->high - direct.high) <= 1);
    }
    void notABaseline_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("no JSON") << QByteArray("hello");
        QTest::newRow("a list") << QByteArray("[]");
        QTest::newRow("no rows") << QByteArray("{}");
        QTest::newRow("rows of something else") << QByteArray("{\"rows\": [{\"tensor\": \"a\"}]}");
        QTest::newRow("rows of numbers") << QByteArray("{\"rows\": [1]}");
        QTest::newRow("deep") << QByteArray(100'000, '[');
    }
    void notABaseline() {
        QFETCH(QByteArray, text);
        const auto read = parseBenchBaseline(std::string_view(text.constData(), std::size_t(text.size())), "old.json");
        QVERIFY(!read && read.error().message.find("old.json") != std::string::npos);
    }
    /// Opening a pipe without a writer would wait forever.
    void aPipeIsNoFile() {
        const QTemporaryDir folder;
        const auto path = folder.filePath(QStringLiteral("pipe.json")).toStdString();
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
        const auto read = readBenchBaseline(path);
        QVERIFY(!read && read.error().message.find("pipe.json is a pipe, not a regular file") != std::string::npos);
    }
    void oddFieldsAreLeftOut() {
        const auto read = parseBenchBaseline(
            "{\"rows\": [{\"variant\": 7, \"median_ns\": \"x\", \"ci_ns\": [1], \"m\": -1e300}]}", "o");
        QVERIFY(read && !read->rows[0].medianNs && !read->rows[0].ciNs);
        QVERIFY(!readBenchBaseline("/nonexistent/old.json"));
    }
};

QS_TEST(CompareTest)
#include "compare_test.moc"
