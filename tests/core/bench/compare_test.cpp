// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/bench_report.h"

#include <QTest>

using namespace qs;

namespace {

BenchmarkRow rowOf(const char* variant, double ns, double half) {
    BenchmarkRow row;
    row.backend = "cpu", row.device = "cpu:0", row.spec = "nf4:block=64", row.op = "matmul_t", row.act = "f32";
    row.m = 1, row.n = 4096, row.k = 4096, row.threads = 2, row.variant = variant;
    row.status = RowState::Ok;
    row.medianNs = ns;
    row.nmse = 1e-12;
    for (int i = 0; i < 25; ++i) row.samples.push_back(std::uint64_t(ns));
    if (half > 0) row.ciNs = Interval{ns - half, ns + half};
    return row;
}

std::string jsonOf(const std::vector<BenchmarkRow>& rows) {
    BenchmarkRun run;
    run.rows = rows;
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
        warm.cache = CacheState::Warm;
        warm.bias = true;
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
        wrong.medianNs.reset();
        wrong.status = RowState::Wrong;
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
    void oddFieldsAreLeftOut() {
        const auto read = parseBenchBaseline(
            "{\"rows\": [{\"variant\": 7, \"median_ns\": \"x\", \"ci_ns\": [1], \"m\": -1e300}]}", "o");
        QVERIFY(read && !read->rows[0].medianNs && !read->rows[0].ciNs);
        QVERIFY(!readBenchBaseline("/nonexistent/old.json"));
    }
};

QTEST_GUILESS_MAIN(CompareTest)
#include "compare_test.moc"
