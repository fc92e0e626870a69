// SPDX-License-Identifier: GPL-3.0-or-later
// A benchmark with a plugin that fails or lies: the row for each fault, while another backend still runs.
#include "bad_source.h"

#include "core/bench/run/benchmark.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

using namespace qs;
using namespace qs::test;

namespace {

const std::string kBeside = "prepare:crash"; // the fault tested together with another backend

/// A short plan with f32 only.
BenchmarkPlan planWith(const std::string& fault) {
    BenchmarkPlan plan;
    plan.specs = {{"f32", *parseSpec("f32")}};
    plan.shapes = {{1, 64, 64, {}}};
    plan.secondsPerRow = 0.01;
    plan.cacheBytes = 1 << 20; // small, so that few weight copies are made
    plan.artifacts = true;
    BackendSource cpu;
    cpu.id = cpu.base = "cpu";
    plan.backends = {badSource(fault)};
    if (fault == kBeside) plan.backends.push_back(cpu); // only there, because its checks take time
    const bool hangs = fault.ends_with(":hang");
    plan.open = [fault, hangs](const BackendSource& source, const Job& job) {
        return openBackend(source, hangs && source.id != "cpu" ? hurried(fault) : patient(), job);
    };
    return plan;
}

} // namespace

class TestRows : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rows_data() {
        QTest::addColumn<QString>("status");
        QTest::addColumn<QString>("reason");
        const std::tuple<const char*, const char*, const char*> faults[] = {
            // All its times are invented: a microsecond for anything, with a reported bandwidth of 4 GB/s.
            {"none:", "invalid", "times the measured read_bw roof"},
            {"bench:zero", "invalid", "a run is said to have taken 0 ns"},
            {"bench:one", "invalid", "a run is said to have taken 1 ns"},
            {"bench:long", "invalid", "but the answer came after"},
            {"execute:nan", "wrong", "is NaN"},
            {"execute:beyond", "wrong", "after the tensor 'out' was overwritten"},
            {"bench:last_out", "wrong", "the result of the last timed run is wrong"},
            {"bench:n", "crashed", "answered with garbage in bench"},
            {"prepare:null", "crashed", "answered with garbage in prepare"},
            {"query:variants", "crashed", "answered with garbage in query"},
            {"bench:failed", "failed", "no luck"},
            {"query:declined", "declined", "not this one"},
            {"open:crash", "crashed", "crashed in open (SIGSEGV)"},
            {"query:crash", "crashed", "crashed in query (SIGSEGV)"},
            {"roof:abort", "crashed", "crashed in roof (SIGABRT)"},
            {"prepare:exit", "crashed", "crashed in prepare (exited with code 0 without an answer)"},
            {"prepare:crash", "crashed", "crashed in prepare (SIGSEGV)"},
            {"execute:crash", "crashed", "crashed in execute (SIGSEGV)"},
            {"bench:crash", "crashed", "crashed in bench (SIGSEGV)"},
            {"artifact:crash", "crashed", "crashed in artifact (SIGSEGV)"},
            {"open:hang", "hung", "hung in open"},
            {"prepare:hang", "hung", "hung in prepare"},
            {"execute:hang", "hung", "hung in execute"},
            {"bench:hang", "hung", "hung in bench"},
        };
        for (const auto& [fault, status, reason] : faults) QTest::newRow(fault) << q(status) << q(reason);
    }
    void rows() {
        QFETCH(QString, status);
        QFETCH(QString, reason);
        const auto run = runBenchmark(planWith(QTest::currentDataTag()), {});
        QVERIFY(run);
        int bad = 0, fine = 0;
        for (const auto& row : run->rows) {
            if (row.question.backend == "cpu") {
                fine += row.verdict.status == RowState::Ok;
                continue;
            }
            ++bad;
            QVERIFY2(q(rowStateText(row.verdict.status)) == status, row.verdict.reason.c_str());
            QVERIFY2(q(row.verdict.reason).contains(reason), row.verdict.reason.c_str());
            QVERIFY(!row.timing.medianNs && row.timing.samples.empty() && !row.timing.gflops && !row.verdict.speedup);
        }
        QVERIFY(bad > 0);                                        // one row for each device, if it reported two
        QVERIFY(fine > 0 || QTest::currentDataTag() != kBeside); // the other backend is not affected
    }
};

QS_TEST(TestRows)
#include "rows_test.moc"
