// SPDX-License-Identifier: GPL-3.0-or-later
// Command bench with the real program and worker process: rows, comparison, refusals.
#include "kernels/cpu_features.h"
#include "peak.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QTemporaryDir>
#include <csignal>
#include <sys/types.h>

using namespace clitest;

namespace {

const QStringList kQuick = {s("bench"), s("--backend"), s("cpu"), s("--cache"), s("warm"), s("--seconds"), s("0.02")};

QJsonArray rowsOf(const Ran& ran) { return rows(ran.out); }

} // namespace

class TestBench : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }

private Q_SLOTS:
    void rowsOfTheContract() {
        const auto ran = run(kQuick + QStringList{s("--shape"), s("3x70x100"), s("--spec"), s("nf4:block=32"),
                                                  s("--spec"), s("int8"), s("--bias"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto all = rowsOf(ran);
        QVERIFY(all.size() >= 2);
        int fine = 0;
        for (const auto& value : all) {
            const auto row = value.toObject();
            for (const char* key : {"backend", "device",  "spec",    "m",           "n",          "k",
                                    "variant", "cache",   "threads", "clock",       "prepare_ns", "median_ns",
                                    "ci_ns",   "samples", "gflops",  "weight_gbps", "nmse",       "speedup_vs_f32",
                                    "status",  "reason",  "op",      "act",         "format_nmse"})
                QVERIFY2(row.contains(s(key)), key);
            QCOMPARE(row[s("backend")].toString(), s("cpu"));
            QCOMPARE(row[s("m")].toInt(), 3);
            QCOMPARE(row[s("cache")].toString(), s("warm"));
            if (row[s("status")].toString() == s("invalid")) { // on a busy machine the measured roofs can be too low
                QVERIFY2(row[s("reason")].toString().contains(s("roof")), qPrintable(row[s("reason")].toString()));
                QVERIFY(row[s("gflops")].isNull());
                continue;
            }
            ++fine;
            QVERIFY2(row[s("status")].toString() == s("ok"), qPrintable(row[s("reason")].toString()));
            const auto samples = row[s("samples")].toArray();
            QVERIFY(samples.size() >= 1 && samples.size() == row[s("sample_count")].toInt());
            QVERIFY(row[s("median_ns")].toDouble() > 0);
            QVERIFY(samples.size() < 20 ? row[s("ci_ns")].isNull() : row[s("ci_ns")].toArray().size() == 2);
            QVERIFY(row[s("nmse")].isDouble() && row[s("nmse")].toDouble() < 1e-3);
            QVERIFY(row[s("format_nmse")].toDouble() > 0);
            QVERIFY(row[s("speedup_vs_f32")].isNull() && !row[s("speedup_reason")].toString().isEmpty());
        }
        QVERIFY(fine > 0);
        const auto provenance = QJsonDocument::fromJson(ran.out).object()[s("provenance")].toObject();
        for (const char* key : {"cpu", "cpu_features", "clock", "governor", "affinity", "compiler", "build_flags",
                                "seed", "command_line", "backend_cpu"})
            QVERIFY2(provenance.contains(s(key)), key);
        // All CPUs of the process are listed, also if threads were pinned before.
        cpu_set_t set;
        QCOMPARE(sched_getaffinity(0, sizeof set, &set), 0);
        QCOMPARE(provenance[s("affinity")].toString().count(u' '), CPU_COUNT(&set));
    }
    void comparedWithItself() {
        const QStringList asked = kQuick + QStringList{s("--shape"), s("1x64x64"), s("--spec"), s("f32")};
        QCOMPARE(run(asked + QStringList{s("--json"), path("old.json")}).code, 0);
        const auto ran = run(asked + QStringList{s("--compare"), path("old.json"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto compared = rows(ran.out, "compared");
        QCOMPARE(compared.size(), rowsOf(ran).size());
        for (const auto& row : compared) QVERIFY(row.toObject()[s("ratio")].toDouble() > 0);
    }
    /// Ctrl-C: the rows measured so far are printed and written.
    void whatAStoppedRunHasIsKept() {
        const QString json = path("stopped.json"), csv = path("stopped.csv");
        QStringList asked = {s("bench"), s("--backend"), s("cpu"), s("--cache"), s("warm"), s("--spec"),
                             s("f32"),   s("--seconds"), s("0.3"), s("--json"),  json,      s("--csv"),
                             csv};
        for (int n = 64; n < 8192; n += 64) asked << s("--shape") << s("1x%1x64").arg(n);
        for (int seconds = 3; seconds < 100 && !QFile::exists(json); seconds *= 2) { // retries with a longer wait for
                                                                                     // slow machines
            QProcess process;
            process.start(binary(), asked);
            QVERIFY(process.waitForStarted());
            QVERIFY2(!process.waitForFinished(seconds * 1000), "it was done before it could be stopped");
            ::kill(pid_t(process.processId()), SIGINT);
            QVERIFY(process.waitForFinished(20'000));
            QCOMPARE(process.exitCode(), 128 + SIGINT);
            const auto err = process.readAllStandardError(), out = process.readAllStandardOutput();
            QVERIFY2(isSentence(err), err.constData());
            if (!QFile::exists(json)) continue;
            QVERIFY2(err.contains("rows that were done are written"), err.constData());
            QVERIFY2(out.contains("Median") && out.contains("f32"), out.constData());
        }
        const auto written = bytesOf(json);
        QVERIFY(!rows(written).isEmpty() && rows(written).size() < 127 * 4);
        QVERIFY(rows(written).at(0).toObject()[s("median_ns")].toDouble() > 0);
        const auto provenance = QJsonDocument::fromJson(written).object()[s("provenance")].toObject();
        QVERIFY(provenance.contains(s("incomplete")) && provenance.contains(s("command_line")));
        QVERIFY(bytesOf(csv).count('\n') > 1);
    }
    void memoryIsASize() {
        const auto asked = [](const char* size) {
            return run(kQuick + QStringList{s("--shape"), s("1x64x64"), s("--spec"), s("f32"), s("--memory"), s(size)});
        };
        QCOMPARE(asked("0.25GiB").code, 0);
        for (const char* wrong : {"much", "1Q", "-5", "0", "4 KiB"}) {
            const auto ran = asked(wrong);
            QVERIFY2(ran.code == 1 && isSentence(ran.err), ran.err.constData());
        }
    }
    /// Cold copies of small weights need many times their bytes. The memory limit counts all of it, and the row says
    /// that there are too few copies to be cold.
    void memoryOfSmallWeights() {
        if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
        constexpr std::int64_t kLimit = 128 * kMiB, kBeside = 96 * kMiB; // programs, libraries and thread stacks
        const QString json = path("small.json");
        const auto peak = peakOf({binary().toStdString(), "bench", "--shape", "1x16x32", "--shape", "4x16x32", "--spec",
                                  "int8", "--spec", "nf4:block=32", "--spec", "f32", "--seconds", "0.01", "--memory",
                                  "128MiB", "--json", json.toStdString()});
        QCOMPARE(peak.code, 0);
        qInfo("%.1f MiB", double(peak.bytes) / double(kMiB));
        QVERIFY2(peak.bytes <= kLimit + kBeside, qPrintable(QString::number(double(peak.bytes) / double(kMiB))));
        int warm = 0;
        for (const auto& row : rows(bytesOf(json)))
            warm +=
                row.toObject()[s("reason")].toString().contains(s("not cold: within the memory limit of 128.00 MiB"));
        QVERIFY(warm > 0);
    }
    void modelShapes() {
        const auto ran = run(kQuick + QStringList{s("--model"), s(QS_SOURCE_DIR "/resources/samples/tiny-llama"),
                                                  s("--spec"), s("int8"), s("--shape"), s("2"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto passes = rows(ran.out, "model");
        QVERIFY(!passes.isEmpty());
        const auto pass = passes.at(0).toObject();
        QVERIFY(pass[s("m")].toInt() == 2 && pass[s("missing")].toInt() == 0 && pass[s("pass_ns")].toDouble() > 0);
        for (const auto& row : rowsOf(ran)) QVERIFY(!row.toObject()[s("tensor")].toString().isEmpty());
    }
    /// The command shown for a row runs exactly that row: its shape only, with values of the model, and quoted for a
    /// shell.
    void theCommandOfARowRunsIt() {
        const QString folder = path("a model, it's mine");
        QVERIFY(QDir().mkpath(folder));
        const QDir sample(s(QS_SOURCE_DIR "/resources/samples/tiny-llama"));
        for (const auto& name : sample.entryList(QDir::Files))
            QVERIFY(QFile::copy(sample.filePath(name), QDir(folder).filePath(name)));
        for (const char* op : {"matmul_t", "matmul"}) {
            if (qs::test::kThinning > 1 && s(op) == s("matmul")) continue;
            const auto ran = run(kQuick + QStringList{s("--model"), folder, s("--spec"), s("int8"), s("--shape"),
                                                      s("2x192x544"), s("--op"), s(op), s("--json"), s("-")});
            QVERIFY2(ran.code == 0, ran.err.constData());
            const auto all = rowsOf(ran);
            QVERIFY(!all.isEmpty());
            for (const auto& row : all) { // no other shapes of the model
                QCOMPARE(row.toObject()[s("n")].toInt(), 192);
                QVERIFY(row.toObject()[s("tensor")].toString().contains(s("down_proj")));
            }
            const auto first = all.at(0).toObject();
            QString command = first[s("command")].toString();
            QVERIFY2(command.startsWith(s("quantscope-cli bench --backend cpu ")), qPrintable(command));
            command.replace(0, 14, s(QS_BIN_DIR "/quantscope-cli"));
            QProcess shell;
            shell.start(s("/bin/sh"), {s("-c"), command + s(" --json -")});
            QVERIFY(shell.waitForFinished(60'000));
            QVERIFY2(shell.exitCode() == 0, shell.readAllStandardError().constData());
            const auto again = rows(shell.readAllStandardOutput());
            QCOMPARE(again.size(), all.size());
            for (const char* key : {"spec", "op", "act", "m", "n", "k", "cache", "tensor", "format_nmse", "command"})
                QCOMPARE(again.at(0).toObject()[s(key)], first[s(key)]);
        }
    }
    /// Both core types of OpenBLAS in one run; each row names its core type.
    void aBackendWithOptionsBesideThePlainOne() {
        const auto ran = run({s("bench"), s("--backend"), s("openblas"), s("--backend"), s("openblas:coretype=default"),
                              s("--spec"), s("f32"), s("--shape"), s("1x64x64"), s("--cache"), s("warm"),
                              s("--seconds"), s("0.02"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const bool decides = !qs::openblasCores(qs::cpuFeatures()).empty();
        QStringList seen;
        for (const auto& value : rowsOf(ran)) {
            const auto row = value.toObject();
            if (row[s("status")].toString() == s("invalid")) continue;
            seen << row[s("backend")].toString();
            QVERIFY2(row[s("speedup_vs_f32")].isDouble(), qPrintable(row[s("reason")].toString()));
            QVERIFY(row[s("command")].toString().contains(s("--backend ") + seen.last() + u' '));
            const bool own = seen.last().contains(u':');
            // The plain backend chooses a core type by the features of the processor. The other one never does.
            const QString device = row[s("device_name")].toString();
            QVERIFY2(device.contains(s("core type ")), qPrintable(device));
            if (own) QVERIFY2(device.endsWith(s("(OpenBLAS itself)")), qPrintable(device));
            if (!own) QCOMPARE(device.contains(s("(features of the processor")), decides);
        }
        QVERIFY(seen.contains(s("openblas")) && seen.contains(s("openblas:coretype=default")));
        const auto none = run({s("bench"), s("--backend"), s("openblas:coretype"), s("--spec"), s("f32")});
        QVERIFY(none.code == 1 && none.err.contains("There is no backend 'openblas:coretype'"));
    }
    /// --plugin accepts a PJRT plugin like any other library. The topology is an option of the backend pjrt.
    void aPjrtPluginByItsPath() {
        const QString fake = qs::test::wholePath(s(QS_BUILD_DIR "/lib/quantscope/test-backends/fake_pjrt.so"));
        if (!QFile::exists(fake)) QSKIP("this build has no pjrt backend");
        const auto listed = run({s("backends"), s("--plugin"), fake, s("--json"), s("-")});
        QVERIFY2(listed.code == 0, listed.err.constData());
        const auto pjrt = rowsOf(listed).at(3).toObject();
        QCOMPARE(pjrt[s("backend")].toString(), s("pjrt"));
        QVERIFY2(pjrt[s("status")].toString() == s("available"), qPrintable(pjrt[s("reason")].toString()));
        const auto ran = run({s("bench"), s("--plugin"), fake, s("--backend"), s("pjrt:topology=v6e:2x2"), s("--spec"),
                              s("f32"), s("--shape"), s("1x4x8"), s("--paths"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        for (const auto& value : rowsOf(ran)) {
            const auto row = value.toObject();
            QCOMPARE(row[s("status")].toString(), s("compile_only"));
            QVERIFY(row[s("command")].toString().contains(s("--plugin ") + fake));
        }
        QVERIFY(!rowsOf(ran).isEmpty());
    }
    /// In the printed table, timed rows come first.
    void whatWasTimedComesFirst() {
        const auto ran = run({s("bench"), s("--backend"), s("cpu"), s("--plugin"),
                              s(QS_BUILD_DIR "/lib/quantscope/test-backends/bad_crash.so"), s("--cache"), s("warm"),
                              s("--seconds"), s("0.02"), s("--shape"), s("1x16x16"), s("--spec"), s("int8")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto crashed = ran.out.indexOf("\nbad_crash.so "), reason = ran.out.indexOf("bad_crash.so crashed: ");
        QVERIFY2(ran.out.lastIndexOf("\ncpu ", crashed) > 0 && crashed > 0 && reason > crashed, ran.out.constData());
        QVERIFY(!ran.out.mid(crashed, ran.out.indexOf("\n\n", crashed) - crashed).contains("\ncpu "));
    }
    void nothingMeasuredIsAFault() {
        // A file that is not a library gives a row with the reason, and exit code 1.
        QVERIFY(!put(path("none.so"), "no library").isEmpty());
        const auto ran = run({s("bench"), s("--plugin"), path("none.so"), s("--shape"), s("1x8x8"), s("--spec"),
                              s("int8"), s("--json"), path("none.json")});
        QCOMPARE(ran.code, 1);
        QVERIFY2(ran.err.count('\n') == 1 &&
                     ran.err.contains("Nothing was measured; the only row, int8 on none.so, is unavailable"),
                 ran.err.constData());
        const auto row = rows(bytesOf(path("none.json"))).at(0).toObject();
        QCOMPARE(row[s("backend")].toString(), s("none.so"));
        QVERIFY(row[s("status")].toString() != s("ok") && !row[s("reason")].toString().isEmpty());
        QVERIFY(row[s("median_ns")].isNull());
    }
    void aLibraryByItsOwnName() {
        const auto ran = run({s("bench"), s("--plugin"), s(QS_BUILD_DIR "/tests/plugins/example.so"), s("--backend"),
                              s("example"), s("--shape"), s("2x33x64"), s("--spec"), s("int8"), s("--cache"), s("warm"),
                              s("--seconds"), s("0.02"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto row = rowsOf(ran).at(0).toObject();
        QCOMPARE(row[s("backend")].toString(), s("example"));
        QVERIFY2(row[s("status")].toString() == s("ok"), qPrintable(row[s("reason")].toString()));
    }
    void checkedByTheSuite() {
        const auto good =
            run({s("backends"), s("--check"), s("--plugin"), s(QS_BUILD_DIR "/tests/plugins/example.so")});
        QVERIFY2(good.code == 0, good.err.constData());
        QVERIFY(good.out.contains("tail shapes") && !good.out.contains("failed") && !good.out.contains("openblas"));
        const auto bad = run({s("backends"), s("--check"), s("--plugin"),
                              s(QS_BUILD_DIR "/lib/quantscope/test-backends/bad_crash.so"), s("--json"), s("-")});
        QCOMPARE(bad.code, 1);
        QVERIFY2(bad.err.count('\n') == 1 && bad.err.contains("1 of 1 checks failed"), bad.err.constData());
        QCOMPARE(rows(bad.out, "checks").at(0).toObject()[s("result")].toString(), s("failed"));
    }
    void aPluginThatIsNotThere() {
        for (const auto& command : {QStringList{s("backends")}, QStringList{s("bench")}}) {
            const auto ran = run(command + QStringList{s("--plugin"), path("none/mine.so")});
            QCOMPARE(ran.code, 1);
            QVERIFY(ran.out.isEmpty());
            QVERIFY2(ran.err.count('\n') == 1 && ran.err.contains("mine.so is not a file"), ran.err.constData());
        }
    }
    void backendsSayWhereTheyWereAsked() {
        const auto ran = run({s("backends"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto provenance = QJsonDocument::fromJson(ran.out).object()[s("provenance")].toObject();
        for (const char* key : {"version", "cpu", "cpu_features", "clock", "commit"})
            QVERIFY2(!provenance[s(key)].toString().isEmpty(), key);
        for (const auto& row : rowsOf(ran)) {
            const auto name = row.toObject()[s("device_name")].toString();
            if (name.startsWith(s("OpenBLAS"))) QVERIFY2(name.contains(s("core type")), qPrintable(name));
        }
    }
    void aCrashIsARowAmongOthers() {
        const auto ran =
            run(kQuick + QStringList{s("--plugin"), s(QS_BUILD_DIR "/lib/quantscope/test-backends/bad_crash.so"),
                                     s("--shape"), s("1x16x16"), s("--spec"), s("int8"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QStringList statuses;
        for (const auto& row : rowsOf(ran)) {
            statuses << row.toObject()[s("status")].toString();
            if (statuses.last() != s("crashed")) continue;
            QCOMPARE(row.toObject()[s("backend")].toString(), s("bad_crash.so"));
            QVERIFY(row.toObject()[s("reason")].toString().contains(s("SIG")));
        }
        QVERIFY2(statuses.contains(s("ok")) && statuses.count(s("crashed")) == 1, qPrintable(statuses.join(u' ')));
    }
    void refusals_data() {
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("says");
        const auto add = [](const char* arguments, int code, const char* says) {
            QTest::newRow(arguments) << s(arguments) << code << s(says);
        };
        add("--backend tpu", 1, "the backends are cpu, openblas, cuda, pjrt, each also with options");
        add("--spec nf5", 1, "nf5");
        add("--shape 1x2", 1, "MxNxK");
        add("--shape 16", 1, "MxNxK");
        add("--shape 1x0x8", 1, "MxNxK");
        add("--seconds 0", 1, "time for a row");
        add("--seed -1", 2, "--seed");
        add("--model DIR/none", 1, "none");
        add("--compare DIR/missing.json", 1, "missing.json");
        add("--json DIR/none/a.json", 1, "does not exist");
        add("--op mul", 2, "--op");
        add("--act f64", 2, "--act");
        add("--cache hot", 2, "--cache");
        add("--threads 0", 2, "--threads");
        add("--nope", 2, "--nope");
    }
    void refusals() {
        QFETCH(QString, arguments);
        QFETCH(int, code);
        QFETCH(QString, says);
        const auto ran = run(QStringList{s("bench")} + arguments.replace(s("DIR"), dir_.path()).split(u' '));
        QVERIFY2(ran.code == code, ran.err.constData());
        QVERIFY2(isSentence(ran.err), ran.err.constData());
        QVERIFY2(ran.err.contains(says.toUtf8()), ran.err.constData());
    }
};

QS_TEST(TestBench)
#include "bench_test.moc"
