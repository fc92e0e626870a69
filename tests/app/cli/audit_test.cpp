// SPDX-License-Identifier: GPL-3.0-or-later
// Commands audit and diff on the real program: findings, exit codes and files. Also compares the output of quantize
// with its source.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

using namespace clitest;

class TestAudit : public QObject {
    Q_OBJECT
    const QString sample_ = s(QS_SOURCE_DIR "/resources/samples/tiny-llama");

private Q_SLOTS:
    void cleanSample() {
        const auto ran = run({s("audit"), sample_});
        QCOMPARE(ran.code, 0);
        QVERIFY2(ran.out.contains("nothing found"), ran.out.constData());
        const auto json = run({s("audit"), sample_, s("--json"), s("-")});
        QVERIFY(rows(json.out).isEmpty());
    }
    void faultyFile() {
        QTemporaryDir dir;
        auto bytes = ramp(64 * 64);
        bytes.replace(4 * 100, 4, QByteArray::fromHex("0000c07f"));
        const auto path = put(dir.filePath(s("x.safetensors")), safetensors({{"w", "F32", "[64,64]", bytes}}));
        const auto html = dir.filePath(s("a.html"));
        const auto ran = run({s("audit"), path, s("--json"), s("-"), s("--html"), html});
        QCOMPARE(ran.code, 0); // findings are not a failure of the command
        const auto found = rows(ran.out);
        QVERIFY(!found.isEmpty());
        const auto first = found.first().toObject();
        QCOMPARE(first[s("check")].toString(), s("not_finite"));
        QCOMPARE(first[s("severity")].toString(), s("fault"));
        QCOMPARE(first[s("tensor")].toString(), s("w"));
        QVERIFY(first[s("evidence")].toString().contains(s("the first at [1, 36]")));
        QVERIFY(bytesOf(html).contains("NaN and Inf"));
        QCOMPARE(run({s("audit"), dir.filePath(s("none.safetensors"))}).code, 1);
        QCOMPARE(run({s("audit")}).code, 2);
        QCOMPARE(run({s("audit"), path, s("--json"), path}).code, 1); // must not overwrite the input
    }
    /// Other programs write names that are alike. What they mean is not known, so nothing contradicts anything.
    void layersOfOtherPrograms_data() {
        QTest::addColumn<QByteArray>("settings");
        QTest::newRow("a method of its own") << QByteArray(R"("quant_method": "gptq_p")");
        QTest::newRow("a container of its own")
            << QByteArray(R"("quant_method": "gptq", "checkpoint_format": "bitblas")");
        QTest::newRow("codes in another order") << QByteArray(R"("quant_method": "awq", "version": "gemv")");
    }
    void layersOfOtherPrograms() {
        QFETCH(QByteArray, settings);
        QTemporaryDir dir;
        const QString from = s(QS_TEST_DATA "/conventions/gptq_v1/");
        put(dir.filePath(s("config.json")),
            bytesOf(from + s("config.json")).replace(R"("quant_method": "gptq")", settings));
        put(dir.filePath(s("model.safetensors")), bytesOf(from + s("model.safetensors")));
        const auto ran = run({s("audit"), dir.path(), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY(!rows(ran.out).isEmpty());
        for (const auto& row : rows(ran.out))
            QVERIFY2(row.toObject()[s("severity")].toString() != s("fault"), ran.out.constData());
    }
    void failOn() {
        QTemporaryDir dir;
        auto bytes = ramp(64 * 64);
        const auto fine = put(dir.filePath(s("fine.safetensors")), safetensors({{"w", "F32", "[64,64]", bytes}}));
        bytes.replace(4 * 100, 4, QByteArray::fromHex("0000c07f"));
        const auto faulty = put(dir.filePath(s("x.safetensors")), safetensors({{"w", "F32", "[64,64]", bytes}}));
        const auto twice =
            put(dir.filePath(s("y.safetensors")), // duplicate tensors are not a fault
                safetensors({{"v", "F32", "[64,64]", ramp(64 * 64)}, {"w", "F32", "[64,64]", ramp(64 * 64)}}));
        const auto code = [&](const QString& path, const char* severity) {
            return run({s("audit"), path, s("--fail-on"), s(severity)}).code;
        };
        QCOMPARE(code(sample_, "warning"), 0);
        QCOMPARE(code(faulty, "fault"), 1);
        QCOMPARE(code(faulty, "warning"), 1);
        QCOMPARE(code(twice, "fault"), 0);
        QCOMPARE(code(fine, "nonsense"), 2);
        const auto json = dir.filePath(s("a.json"));
        const auto ran = run({s("audit"), faulty, s("--fail-on"), s("fault"), s("--json"), json});
        QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("1 fault"), ran.err.constData());
        QVERIFY(!rows(bytesOf(json)).isEmpty() && ran.out.contains("not_finite")); // the result is printed and written
                                                                                   // anyway
    }
    void changedTensorsAlone() {
        QTemporaryDir dir;
        const auto out = dir.filePath(s("q.safetensors"));
        QCOMPARE(
            run({s("quantize"), sample_, s("--spec"), s("int8"), s("--tensor"), s("layers.0.mlp"), s("-o"), out}).code,
            0);
        const auto ran = run({s("diff"), sample_, out, s("--changed"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QCOMPARE(rows(ran.out).size(), 3);
        const auto text = run({s("diff"), sample_, out, s("--changed"), s("--tensor"), s("up_proj")});
        QVERIFY2(text.out.contains("equal, 1 different") && !text.out.contains("down_proj"), text.out.constData());
        QCOMPARE(run({s("diff"), sample_, out, s("--tensor"), s("(")}).code, 1);
    }
    void quantizedAgainstOriginal() {
        QTemporaryDir dir;
        const auto out = dir.filePath(s("q.safetensors"));
        QCOMPARE(
            run({s("quantize"), sample_, s("--spec"), s("int8"), s("--tensor"), s("layers.0.mlp"), s("-o"), out}).code,
            0);
        const auto ran = run({s("diff"), sample_, out, s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        int equal = 0, different = 0;
        for (const auto& row : rows(ran.out)) {
            const auto fields = row.toObject();
            const auto status = fields[s("status")].toString();
            equal += status == s("equal"), different += status == s("different");
            if (status == s("different")) {
                QVERIFY(fields[s("tensor")].toString().contains(s("layers.0.mlp")));
                QVERIFY(fields[s("sqnr_db")].toDouble() > 35 && fields[s("nmse")].toDouble() > 0);
            }
        }
        QCOMPARE(different, 3);
        QVERIFY(equal > 60);
        const auto same = run({s("diff"), sample_, sample_});
        QVERIFY2(same.out.contains("75 equal."), same.out.constData());
        QCOMPARE(run({s("diff"), sample_}).code, 2);
        QCOMPARE(run({s("diff"), sample_, dir.filePath(s("none"))}).code, 1);
    }
};

QS_TEST(TestAudit)
#include "audit_test.moc"
