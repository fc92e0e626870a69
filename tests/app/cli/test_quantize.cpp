// SPDX-License-Identifier: GPL-3.0-or-later
// quantize and dequantize, there and back on the real binary.
#include "cli_run.h"

#include <QTemporaryDir>
#include <cmath>

using namespace clitest;

class TestQuantize : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void thereAndBack() {
        QTemporaryDir dir;
        const QString in =
            put(dir.filePath(s("in.safetensors")),
                safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}, {"bias", "F32", "[4]", ramp(4)}}));
        const QString packed = dir.filePath(s("packed.safetensors")), back = dir.filePath(s("back.safetensors"));
        auto ran = run({s("quantize"), in, s("--spec"), s("nf4:block=64"), s("-o"), packed});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QStringList names;
        for (const auto& t : rows(run({s("inspect"), packed, s("--json"), s("-")}).out, "tensors"))
            names << t.toObject()[s("name")].toString();
        QVERIFY(names.contains(s("a.weight.packed")) && names.contains(s("a.weight.absmax")) &&
                names.contains(s("bias")));
        ran = run({s("dequantize"), packed, s("-o"), back});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto tensors = rows(run({s("inspect"), back, s("--json"), s("-")}).out, "tensors");
        QCOMPARE(tensors.size(), 2);
        QCOMPARE(tensors[0].toObject()[s("shape")].toArray(), (QJsonArray{4, 64}));
        QCOMPARE(tensors[0].toObject()[s("dtype")].toString(), s("F32"));
        const auto before = get(back);
        QCOMPARE(run({s("dequantize"), packed, s("--decode"), s("poly"), s("-o"), back}).code, 0);
        QVERIFY(get(back) != before); // replaced, and decoded otherwise
    }

    void aRefusedTensorWritesNothing() {
        QTemporaryDir dir;
        const QString in = put(
            dir.filePath(s("in.safetensors")),
            safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}, {"bad.weight", "F32", "[1,2]", floats({NAN, 1})}}));
        const auto ran =
            run({s("quantize"), in, s("--spec"), s("nf4:block=64"), s("-o"), dir.filePath(s("out.safetensors"))});
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err), ran.err.constData());
        QVERIFY2(ran.err.contains("bad.weight") && ran.err.contains("--tensor"), ran.err.constData());
        QCOMPARE(entries(dir.path()).size(), 1);
    }

    void sampleAsAFolder() {
        QTemporaryDir dir;
        const QString out = dir.filePath(s("quantized"));
        const auto ran = run(
            {s("quantize"), s(QS_SOURCE_DIR "/resources/samples/tiny-llama"), s("--spec"), s("int8"), s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY(QFile::exists(out + s("/config.json")));
        QCOMPARE(run({s("inspect"), out}).code, 0);
        QCOMPARE(entries(dir.path()), QStringList{s("quantized")});
    }
};

QTEST_GUILESS_MAIN(TestQuantize)
#include "test_quantize.moc"
