// SPDX-License-Identifier: GPL-3.0-or-later
// Commands on checkpoints that other programs quantized: their layers are tensors for all commands.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <set>

using namespace clitest;

class TestConventions : public QObject {
    Q_OBJECT

    static QString data(const char* folder) { return s(QS_TEST_DATA "/conventions/") + s(folder); }
    static QJsonObject json(const QByteArray& text) { return QJsonDocument::fromJson(text).object(); }

private Q_SLOTS:
    void inspectShowsLayersAndTheirParts() {
        const Ran ran = run({s("inspect"), data("bnb_4bit"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QCOMPARE(rows(ran.out, "tensors").size(), 6);
        const auto first = rows(ran.out, "tensors")[0].toObject();
        QCOMPARE(first[s("dtype")].toString(), s("bnb-nf4"));
        QCOMPARE(first[s("bytes")].toInt(), 2304 + 72 * 4 + 64 + 78); // bytes of all stored fields
        const auto computed = rows(ran.out, "computed");
        QCOMPARE(computed.size(), 5);
        QCOMPARE(computed[1].toObject()[s("values")].toString(), s("BF16"));
        QCOMPARE(computed[1].toObject()[s("description")].toString(),
                 s("bitsandbytes nf4, blocks of 128, double quantization"));
        const auto parts = computed[1].toObject()[s("parts")].toArray();
        QCOMPARE(parts.size(), 6);
        QCOMPARE(parts[0].toObject()[s("dtype")].toString(), s("U8"));
        QCOMPARE(parts[0].toObject()[s("name")].toString(), computed[1].toObject()[s("name")].toString());
    }

    void inspectSaysWhatTypesMean() {
        const Ran ran = run({s("inspect"), data("awq_gemm")});
        QVERIFY2(ran.out.contains("AWQ (gemm), 4 bits with zero points, groups of 32 inputs; values in F16"),
                 ran.out.constData());
    }

    // Quantizing to the same format again gives the same codes, so the error is zero.
    void analyzeTakesLayersAsOriginals() {
        const Ran ran = run({s("analyze"), data("bnb_4bit"), s("--spec"), s("nf4"), s("--spec"), s("int4"),
                             s("--tensor"), s("layers.0.self_attn.k_proj"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto all = rows(ran.out);
        QCOMPARE(all.size(), 2);
        QCOMPARE(all[0].toObject()[s("nmse")].toDouble(-1), 0.0);
        QVERIFY(all[1].toObject()[s("nmse")].toDouble() > 1e-4);
    }

    /// Rows of a comparison say that a tensor has no partner because its layer is not decoded.
    void layersLeftOutOfComparisons() {
        QTemporaryDir dir;
        const QByteArray codes(64 * 8 * 2 * 2, '\1');
        put(dir.filePath(s("plain/model.safetensors")), safetensors({{"l.k.weight", "F32", "[64,64]", ramp(64 * 64)}}));
        put(dir.filePath(s("coded/model.safetensors")),
            safetensors(
                {{"l.k.codes", "I16", "[64,8,2]", codes}, {"l.k.scales", "F16", "[64,1,1,1]", QByteArray(128, '\1')}}));
        put(dir.filePath(s("coded/config.json")), R"({"quantization_config": {"quant_method": "aqlm"}})");
        for (const char* command : {"diff", "verify"}) {
            const Ran ran = run({s(command), dir.filePath(s("plain")), dir.filePath(s("coded")), s("--json"), s("-")});
            QVERIFY2(ran.code == 0, ran.err.constData());
            QCOMPARE(rows(ran.out).size(), 3);
            for (const auto& row : rows(ran.out))
                QVERIFY2(row.toObject()[s("reason")].toString().contains(s("not decoded")), ran.out.constData());
        }
    }

    /// A damaged scale must not become weights.
    void valuesThatAreNotFiniteAreNotWritten() {
        QTemporaryDir dir;
        QByteArray file = bytesOf(data("mlx_global") + s("/model.safetensors"));
        const qint64 headerBytes = qint64(*reinterpret_cast<const quint64*>(file.constData()));
        const QJsonObject header = json(file.mid(8, headerBytes));
        QString scales;
        for (const QString& name : header.keys())
            if (name.endsWith(s(".global_scale"))) scales = name;
        QVERIFY(!scales.isEmpty());
        const auto at = 8 + headerBytes + header[scales].toObject()[s("data_offsets")].toArray()[0].toInteger();
        file.replace(at, 4, "\xff\xff\xff\x7f"); // NaN
        put(dir.filePath(s("m/config.json")), bytesOf(data("mlx_global") + s("/config.json")));
        put(dir.filePath(s("m/model.safetensors")), file);
        const QString output = dir.filePath(s("out.safetensors"));
        const Ran ran = run({s("dequantize"), dir.filePath(s("m")), s("-o"), output});
        QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("decodes to NaN or Inf"),
                 ran.err.constData());
        QVERIFY(!QFile::exists(output));
    }

    void sweepTakesThem() {
        const Ran ran = run({s("sweep"), data("ct_groups"), s("--spec"), s("int4"), s("--spec"), s("nf4")});
        QVERIFY2(ran.code == 0, ran.err.constData());
    }

    /// Layers that are not decoded are rows of every table of tensors, so that no reader of a CSV file misses them.
    void layersLeftOutAreRows_data() {
        QTest::addColumn<QStringList>("command");
        QTest::newRow("analyze") << QStringList{s("analyze"), s("--spec"), s("int8")};
        QTest::newRow("sweep") << QStringList{s("sweep"), s("--spec"), s("int4"), s("--block"), s("32")};
        QTest::newRow("plan") << QStringList{s("plan"), s("--spec"),   s("int8"), s("--spec"),
                                             s("nf4"),  s("--budget"), s("9bpw")};
    }
    void layersLeftOutAreRows() {
        QFETCH(QStringList, command);
        QTemporaryDir dir;
        const QString file = put(dir.filePath(s("a.safetensors")),
                                 safetensors({{"a.q_proj.weight", "F32", "[64, 64]", QByteArray(64 * 64 * 4, '\x3f')},
                                              {"a.k_proj.qweight", "I32", "[8, 64]", QByteArray(8 * 64 * 4, '\x21')},
                                              {"a.k_proj.scales", "F16", "[2, 64]", QByteArray(2 * 64 * 2, '\x21')},
                                              {"a.k_proj.qzeros", "I32", "[2, 8]", QByteArray(2 * 8 * 4, '\x21')}}));
        const Ran ran = run(command + QStringList{file, s("--csv"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        int found = 0;
        for (const QByteArray& line : ran.out.split('\n'))
            found += line.startsWith("a.k_proj,") && line.contains("not decoded: nothing in the checkpoint says");
        QVERIFY2(found == 1, ran.out.constData());
        QVERIFY2(ran.err.contains("Left out: 1 quantized layer"), ran.err.constData());
    }

    void dequantizeWritesPlainTensors_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder : entries(s(QS_TEST_DATA "/conventions")))
            if (QFileInfo(s(QS_TEST_DATA "/conventions/") + folder).isDir())
                QTest::newRow(qPrintable(folder)) << folder;
    }
    void dequantizeWritesPlainTensors() {
        QFETCH(QString, folder);
        const QString source = s(QS_TEST_DATA "/conventions/") + folder;
        QTemporaryDir at;
        const QString out = at.filePath(s("plain"));
        const Ran ran = run({s("dequantize"), source, s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto expected = json(bytesOf(source + s("/values.json")));
        const Ran look = run({s("inspect"), out, s("--json"), s("-")});
        QVERIFY(!look.out.contains("\"computed\""));
        std::set<QString> plain;
        for (const auto& row : rows(look.out, "tensors")) {
            QVERIFY((std::set<QString>{s("F32"), s("F16"), s("BF16")}.contains(row.toObject()[s("dtype")].toString())));
            plain.insert(row.toObject()[s("name")].toString());
        }
        for (const QString& name : expected.keys()) QVERIFY2(plain.contains(name), qPrintable(name));
        for (const QString& name : plain) // no part of a layer is left
            QVERIFY2(expected.contains(name) || name.endsWith(s("norm.weight")) || name.endsWith(s(".bias")),
                     qPrintable(name));
        const auto count = [](qsizetype n) { return QByteArray::number(n); };
        const qsizetype decoded = expected.size(), all = qsizetype(plain.size());
        QVERIFY2(ran.out.contains(count(decoded) + " tensors decoded, " + count(all - decoded) + " copied") ||
                     (decoded == 1 && ran.out.contains("1 tensor decoded, ")),
                 ran.out.constData());
        // Otherwise loaders would take the dequantized file for a quantized one.
        const QString configFile = out + s("/config.json");
        const auto config = QFile::exists(configFile) ? json(bytesOf(configFile)) : QJsonObject();
        QVERIFY(!config.contains(s("quantization_config")) && !config.contains(s("quantization")));
        QCOMPARE(config.contains(s("architectures")), QFile::exists(source + s("/config.json")));
    }

    void quantizeToAnotherSpec() {
        QTemporaryDir at;
        const QString out = at.filePath(s("int8.safetensors"));
        const Ran ran = run({s("quantize"), data("bnb_4bit"), s("--spec"), s("int8"), s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const Ran back = run({s("dequantize"), out, s("-o"), at.filePath(s("back.safetensors"))});
        QVERIFY2(back.code == 0, back.err.constData());
        QVERIFY(back.out.contains("5 tensors decoded"));
    }
};

QS_TEST(TestConventions)
#include "conventions_test.moc"
