// SPDX-License-Identifier: GPL-3.0-or-later
// Commands quantize and dequantize, in both directions, on the real program.
#include "cli_run.h"
#include "layout_case.h"
#include "tests/support/test_program.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
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
        const auto before = bytesOf(back);
        QCOMPARE(run({s("dequantize"), packed, s("--decode"), s("poly"), s("-o"), back, s("--force")}).code, 0);
        QVERIFY(bytesOf(back) != before); // the file was replaced, with another decode
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

    /// A model that lacks a shard, or a tensor that its index names, is not written without a word.
    void whatIsMissingMustBeAllowed_data() {
        QTest::addColumn<QByteArray>("map");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("a shard") << QByteArray("\"a.weight\":\"one.safetensors\",\"b.weight\":\"two.safetensors\"")
                                 << QByteArray("1 file (\"two.safetensors\"), 1 tensor (the first is \"b.weight\")");
        QTest::newRow("a tensor of a shard")
            << QByteArray("\"a.weight\":\"one.safetensors\",\"b.weight\":\"one.safetensors\"")
            << QByteArray("Missing: 1 tensor (the first is \"b.weight\")");
    }
    void whatIsMissingMustBeAllowed() {
        QFETCH(QByteArray, map);
        QFETCH(QByteArray, says);
        QTemporaryDir dir;
        const QString in = dir.filePath(s("in"));
        QDir().mkpath(in);
        put(in + s("/one.safetensors"), safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}}));
        put(in + s("/model.safetensors.index.json"), "{\"metadata\":{},\"weight_map\":{" + map + "}}");
        put(dir.filePath(s("r.json")), "{\"version\":1,\"default\":\"int8\",\"rules\":[]}");
        const QString out = dir.filePath(s("out"));
        const QList<QStringList> writing = {
            {s("quantize"), in, s("--spec"), s("int8"), s("--layout"), s("plain"), s("-o"), out},
            {s("export"), in, s("--recipe"), dir.filePath(s("r.json")), s("--layout"), s("plain"), s("-o"), out},
            {s("dequantize"), in, s("-o"), out}};
        for (const QStringList& arguments : writing) {
            auto ran = run(arguments);
            QCOMPARE(ran.code, 1);
            QVERIFY2(isSentence(ran.err.mid(ran.err.lastIndexOf("quantscope-cli: "))) && ran.err.contains(says) &&
                         ran.err.contains("--allow-missing"),
                     ran.err.constData());
            QVERIFY(!QFileInfo::exists(out));
            ran = run(arguments + QStringList{s("--allow-missing")});
            QVERIFY2(ran.code == 0 && ran.err.contains(says), ran.err.constData());
            if (arguments.front() != s("dequantize")) {
                const auto certificate = QJsonDocument::fromJson(bytesOf(out + s("/certificate.json"))).object();
                QCOMPARE(certificate[s("tensors_missing")].toInt(), 1);
                QVERIFY(certificate[s("missing")].toString().toUtf8().contains(says));
                QVERIFY2(ran.out.contains("1 tensor of the source is not in it"), ran.out.constData());
            }
            QVERIFY(QDir(out).removeRecursively());
        }
        // The others open it, and their last line says what is missing.
        for (const QStringList& arguments : QList<QStringList>{{s("inspect"), in},
                                                               {s("audit"), in},
                                                               {s("analyze"), in, s("--spec"), s("int8")},
                                                               {s("diff"), in, in}}) {
            const auto ran = run(arguments);
            QVERIFY2(ran.code == 0 && ran.err.trimmed().split('\n').last().contains(says), ran.err.constData());
        }
        QVERIFY(run({s("audit"), in}).out.contains(says));
    }

    void refusedTensorsMayStay() {
        QTemporaryDir dir;
        const QString in = put(
            dir.filePath(s("in.safetensors")),
            safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}, {"bad.weight", "F32", "[1,2]", floats({NAN, 1})}}));
        const QString out = dir.filePath(s("out.safetensors")), json = dir.filePath(s("out.json"));
        const QStringList asked = {
            s("quantize"), in, s("--spec"), s("nf4:block=64"), s("--skip-refused"), s("-o"), out, s("--json"), json};
        auto ran = run(asked);
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY2(ran.out.contains("1 refused tensors of those copied") && ran.out.contains("bad.weight"),
                 ran.out.constData());
        const auto skipped = rows(bytesOf(json), "skipped");
        QCOMPARE(skipped.size(), 1);
        QCOMPARE(skipped[0].toObject()[s("tensor")].toString(), s("bad.weight"));
        QVERIFY(skipped[0].toObject()[s("reason")].toString().contains(s("NaN")));
        QStringList names;
        for (const auto& t : rows(run({s("inspect"), out, s("--json"), s("-")}).out, "tensors"))
            names << t.toObject()[s("name")].toString();
        QVERIFY(names.contains(s("bad.weight")) && names.contains(s("a.weight.packed")));
        // If all tensors are refused, nothing is written.
        ran = run(asked + QStringList{s("--tensor"), s("bad")});
        QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("all 1 tensors are refused"),
                 ran.err.constData());
    }

    /// The certificate of a file as JSON: instead of the table, beside it, or in its own file.
    void certificateOfAFile() {
        QTemporaryDir dir;
        const QString in =
            put(dir.filePath(s("in.safetensors")),
                safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}, {"bias", "F32", "[4]", ramp(4)}}));
        const QString out = dir.filePath(s("out.safetensors")), proof = dir.filePath(s("proof.json"));
        const QStringList asked = {s("quantize"), in, s("--spec"), s("nf4:block=64"), s("-o"), out};
        auto ran = run(asked + QStringList{s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto all = rows(ran.out);
        QCOMPARE(all.size(), 2);
        QCOMPARE(all[0].toObject()[s("tensor")].toString(), s("a.weight"));
        QCOMPARE(all[0].toObject()[s("result")].toString(), s("equal"));
        const auto said = QJsonDocument::fromJson(ran.out).object()[s("certificate")].toObject();
        QCOMPARE(said[s("result")].toString(), s("proved"));
        const auto hash = QCryptographicHash::hash(bytesOf(out), QCryptographicHash::Sha256).toHex();
        QCOMPARE(said[s("files")].toArray()[0].toObject()[s("sha256")].toString(), QString::fromLatin1(hash));
        ran = run(asked + QStringList{s("--certificate"), proof});
        QVERIFY2(ran.code == 0 && ran.out.contains("proof.json"), ran.err.constData());
        const auto written = QJsonDocument::fromJson(bytesOf(proof)).object();
        QCOMPARE(written[s("files")].toArray(), said[s("files")].toArray());
        QCOMPARE(QJsonDocument::fromJson(run(asked + QStringList{s("--certificate"), s("-")}).out).object(), written);
        for (const QString& wrong : {in, out}) {
            ran = run(asked + QStringList{s("--certificate"), wrong});
            QVERIFY2(ran.code == 1 && isSentence(ran.err), ran.err.constData());
        }
    }

    /// The extension of the output selects the layout.
    void endingsOfOutputs() {
        QTemporaryDir dir;
        const QString in =
            put(dir.filePath(s("in.safetensors")), safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}}));
        const auto to = [&](const char* out, const char* layout = nullptr) {
            QStringList asked = {s("quantize"), in, s("--spec"), s("nf4:block=64"), s("-o"), dir.filePath(s(out))};
            if (layout) asked << s("--layout") << s(layout);
            return run(asked);
        };
        for (const char* out : {"x.npz", "x.h5", "x.safetensors", "folder"}) {
            const auto ran = to(out);
            QVERIFY2(ran.code == 0, ran.err.constData());
            QCOMPARE(QFileInfo(dir.filePath(s(out))).isFile(), s(out) != s("folder"));
        }
        QVERIFY(bytesOf(dir.filePath(s("x.npz"))).startsWith("PK"));
        for (const char* out : {"y.pt", "y.onnx", "y.bin", "y.PTH", "y.hdf5", "y.json", "y.tflite"}) {
            const auto ran = to(out);
            QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains(".safetensors"), ran.err.constData());
            QVERIFY(!QFileInfo::exists(dir.filePath(s(out))));
        }
        for (const auto& [out, layout] : {std::pair("y.npz", "eformer"), {"y.h5", "native"}, {"y.gguf", "plain"}}) {
            const auto ran = to(out, layout);
            QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("layout"), ran.err.constData());
            QVERIFY(!QFileInfo::exists(dir.filePath(s(out))));
        }
        QVERIFY2(to("y.safetensors", "npz").err.contains("y.safetensors.npz"), "");
        const auto ran = run({s("dequantize"), dir.filePath(s("x.safetensors")), s("-o"), dir.filePath(s("back.npz"))});
        QVERIFY2(ran.code == 1 && isSentence(ran.err), ran.err.constData());
    }

    /// Output for Hugging Face loaders needs their tensor names and a config.json.
    void ggufIsNotWrittenForOtherLoaders() {
        QTemporaryDir dir;
        const QString in = s(QS_SOURCE_DIR "/tests/data/diff/layer0_attention.gguf");
        for (const auto& [layout, spec] : {std::pair("bnb", "nf4:dialect=bnb"),
                                           {"compressed-tensors", "int4:dialect=ct:block=32"},
                                           {"mlx", "int4:sym=no:block=32:scaletype=bf16"},
                                           {"llm-int8", "int8"},
                                           {"gptq", "int4:dialect=ct:block=32:scaletype=f16"}})
            for (const char* out : {"folder", "file.safetensors"}) {
                const auto ran = run(
                    {s("quantize"), in, s("--spec"), s(spec), s("--layout"), s(layout), s("-o"), dir.filePath(s(out))});
                QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("use layout gguf"),
                         ran.err.constData());
                QVERIFY(entries(dir.path()).isEmpty());
            }
    }

    void warnsOfWhatLoadersDoNotDo() {
        QTemporaryDir dir;
        QVERIFY(QDir(dir.path()).mkdir(s("m")));
        QString in = dir.filePath(s("m"));
        const QString file =
            put(dir.filePath(s("m/model.safetensors")), safetensors({{"a.weight", "F32", "[32,64]", ramp(2048)}}));
        put(dir.filePath(s("m/config.json")), "{}");
        const auto of = [&](const char* spec) {
            return run({s("quantize"), in, s("--spec"), s(spec), s("--layout"), s("compressed-tensors"), s("-o"),
                        dir.filePath(s("out"))});
        };
        auto ran = of("int4:sym=no:block=32:scaletype=bf16");
        QVERIFY2(ran.code == 0 && ran.out.contains("Warning: 1 of 1 quantized tensors have zero points"),
                 ran.err.constData());
        ran = of("int4:dialect=ct:block=32:scaletype=bf16");
        QVERIFY2(ran.code == 0 && !ran.out.contains("Warning"), ran.out.constData());
        in = file; // the file without its folder
        ran = of("int4:dialect=ct:block=32:scaletype=bf16");
        QVERIFY2(ran.code == 0 && ran.out.contains("Warning: The source has no config.json"), ran.out.constData());
    }

    /// analyze, sweep and quantize use the decoded values of tensors stored by `quantize`, never their codes and
    /// scales.
    void storedTensorsAreWhatTheyDecodeTo() {
        QTemporaryDir dir;
        const QString in = put(dir.filePath(s("in.safetensors")), safetensors({{"a.weight", "F32", "[8,64]", ramp(512)},
                                                                               {"b.weight", "F32", "[8,64]", ramp(512)},
                                                                               {"bias", "F32", "[4]", ramp(4)}}));
        const QString stored = dir.filePath(s("stored.safetensors")), plain = dir.filePath(s("plain.safetensors"));
        QCOMPARE(
            run({s("quantize"), in, s("--spec"), s("int3:block=8"), s("--layout"), s("native"), s("-o"), stored}).code,
            0);
        QCOMPARE(run({s("dequantize"), stored, s("-o"), plain}).code, 0);
        for (const char* command : {"analyze --spec nf4 --spec int3:block=8", "sweep --spec int4 --block 16"}) {
            const auto figures = [&](const QString& file) {
                auto arguments = s(command).split(u' ');
                arguments.insert(1, file);
                return rows(run(arguments << s("--json") << s("-")).out);
            };
            QVERIFY2(!figures(plain).isEmpty() && figures(stored) == figures(plain), command);
        }
        const QString again = dir.filePath(s("again.safetensors")), back = dir.filePath(s("back.safetensors")),
                      should = dir.filePath(s("should.safetensors"));
        auto ran = run({s("quantize"), stored, s("--spec"), s("nf4:block=16"), s("--tensor"), s("^a"), s("-o"), again});
        QVERIFY2(ran.code == 0 && ran.out.contains("1 tensors as nf4:block=16, 2 copied"), ran.err + ran.out);
        QCOMPARE(run({s("dequantize"), again, s("-o"), back}).code, 0);
        QCOMPARE(
            run({s("quantize"), plain, s("--spec"), s("nf4:block=16"), s("--tensor"), s("^a"), s("-o"), again}).code,
            0);
        QCOMPARE(run({s("dequantize"), again, s("-o"), should}).code, 0);
        QVERIFY(!bytesOf(back).isEmpty() && bytesOf(back) == bytesOf(should));
        ran = run({s("quantize"), stored, s("--spec"), s("nf4"), s("-o"), stored});
        QVERIFY2(ran.code == 1 && isSentence(ran.err), ran.err.constData()); // it is still an input
    }

    /// Inputs from a file: the output error is smaller, and the decoded file names the solver.
    void solved() {
        QTemporaryDir dir;
        QByteArray w, x;
        unsigned state = 1;
        const auto next = [&state] {
            return double((state = state * 1664525u + 1013904223u) >> 8) / double(1 << 24) - 0.5;
        };
        for (int i = 0; i < 8 * 64; ++i) w += floats({float(next())});
        for (int i = 0; i < 100; ++i) {
            const double common = next();
            for (int j = 0; j < 64; ++j) x += floats({float(3 * common + next())});
        }
        const QString in = put(dir.filePath(s("in.safetensors")), safetensors({{"a.weight", "F32", "[8,64]", w}}));
        const QString inputs = put(dir.filePath(s("x.safetensors")), safetensors({{"a", "F32", "[100,64]", x}}));
        const QString out = dir.filePath(s("out.safetensors"));
        const auto ran =
            run({s("quantize"), in, s("--spec"), s("int3:block=32"), s("--solver"), s("gptq"), s("--activations"),
                 inputs, s("--layout"), s("native"), s("--json"), s("-"), s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto row = rows(ran.out, "rows")[0].toObject();
        QCOMPARE(row[s("solver")].toString(), s("gptq:damp=0.01:order=given:block=128"));
        QVERIFY(row[s("inputs")].toString().contains(s("x.safetensors")));
        QVERIFY(row[s("output_nmse")].toDouble() > 0);
        QVERIFY(row[s("output_nmse")].toDouble() < 0.7 * row[s("nearest_output_nmse")].toDouble());
        QVERIFY(QFile::exists(out));
        const auto measured = run({s("analyze"), in, s("--spec"), s("int3:block=32"), s("--solver"), s("gptq"),
                                   s("--activations"), inputs, s("--json"), s("-")});
        QVERIFY2(measured.code == 0, measured.err.constData());
        const auto same = rows(measured.out)[0].toObject();
        for (const char* id : {"nmse", "output_nmse"})
            QVERIFY(std::fabs(same[s(id)].toDouble() / row[s(id)].toDouble() - 1) < 1e-6);
        const auto nearest =
            run({s("analyze"), in, s("--spec"), s("int3:block=32"), s("--activations"), inputs, s("--json"), s("-")});
        const double before = rows(nearest.out)[0].toObject()[s("output_nmse")].toDouble();
        QVERIFY(std::fabs(before / row[s("nearest_output_nmse")].toDouble() - 1) < 1e-6);
        const auto none = run({s("analyze"), in, s("--spec"), s("int3"), s("--solver"), s("gptq")});
        QVERIFY(none.code == 1 && isSentence(none.err) && none.err.contains("--activations"));
        const auto text = run({s("quantize"), in, s("--spec"), s("int3:block=32"), s("--solver"), s("awq"),
                               s("--activations"), s("synthetic"), s("--layout"), s("plain"), s("-o"), out});
        QVERIFY2(text.code == 0 && text.out.contains("synthetic inputs"), text.err.constData());
        const auto unfit = run({s("quantize"), in, s("--spec"), s("int4"), s("--solver"), s("gptq"), s("--activations"),
                                in, s("--layout"), s("native"), s("-o"), out + s("2")});
        QCOMPARE(unfit.code, 0); // its rows can be used as inputs too
    }

    /// Columns weighted by inputs, and one codebook for all tensors: the levels differ from those of a single tensor.
    void learned() {
        QTemporaryDir dir;
        const QString in =
            put(dir.filePath(s("in.safetensors")), safetensors({{"layers.0.a.weight", "F32", "[4,64]", ramp(256)},
                                                                {"layers.1.b.weight", "F32", "[2,16]", ramp(32)}}));
        QByteArray levels;
        for (const char* share : {"tensor", "model"}) {
            const QString out = dir.filePath(s(share) + s(".safetensors"));
            const auto ran = run({s("quantize"), in, s("--spec"), s("codebook:bits=2:scale=none"),
                                  s("--share-codebook"), s(share), s("--layout"), s("native"), s("-o"), out});
            QVERIFY2(ran.code == 0, ran.err.constData());
            QVERIFY(bytesOf(out) != levels);
            levels = bytesOf(out);
        }
        const auto own = run({s("analyze"), in, s("--spec"), s("codebook:bits=2:scale=none"), s("--json"), s("-")});
        const auto shared = run({s("analyze"), in, s("--spec"), s("codebook:bits=2:scale=none"), s("--share-codebook"),
                                 s("model"), s("--json"), s("-")});
        QVERIFY2(shared.code == 0, shared.err.constData());
        const auto nmse = [](const auto& ran) { return rows(ran.out, "rows")[1].toObject()[s("nmse")].toDouble(); };
        QVERIFY(nmse(own) > 0 && nmse(own) < nmse(shared));
    }

    /// Metadata may describe tensors that the file holds as they are, in words that mean nothing.
    void falseDescriptionsOfTensors() {
        QVERIFY(!layoutWithoutCase(kLayoutCases));
        QTemporaryDir dir;
        QByteArray file = safetensors({{"a.weight", "F32", "[32,256]", ramp(8192)},
                                       {"b.weight", "F32", "[256]", ramp(256)},
                                       {"b.weight.codes", "F32", "[4]", ramp(4)}}),
                   header = file.mid(8, file.indexOf('}' + QByteArray(1, '}')) - 6);
        const QByteArray data = file.mid(8 + qsizetype(file[0] & 0xff) + 256 * qsizetype(file[1] & 0xff));
        header.insert(
            1, "\"__metadata__\":{\"quantscope.a.weight\":\"[[\",\"quantscope.b.weight\":\"{\\\"spec\\\":1}\"},");
        while (header.size() % 8) header += ' ';
        const quint64 length = quint64(header.size());
        const QString in = put(dir.filePath(s("in.safetensors")),
                               QByteArray(reinterpret_cast<const char*>(&length), 8) + header + data);
        for (const auto& [layout, spec] : kLayoutCases) {
            const auto* row = qs::findLayout(layout);
            if (row->fileEnding && QByteArray(row->fileEnding) == ".gguf") continue; // it takes GGUF files alone
            const QString out = dir.filePath(s(layout) + s(row->fileEnding ? row->fileEnding : ".safetensors"));
            const auto ran = run({s("quantize"), in, s("--spec"), s(spec), s("--layout"), s(layout), s("--tensor"),
                                  s("a.weight"), s("-o"), out});
            QVERIFY2(ran.code == 0, (QByteArray(layout) + ": " + ran.err).constData());
            QVERIFY2(ran.out.contains("every value is what was analysed"), ran.out.constData());
        }
    }

    /// Readers of some layouts take no empty matrix, so it stays as it is there.
    void emptyMatricesCanBeReadAgain() {
        QTemporaryDir dir;
        const QString in =
            put(dir.filePath(s("in.safetensors")), safetensors({{"a.0.q_proj.weight", "F32", "[0,64]", {}},
                                                                {"a.0.k_proj.weight", "F32", "[64,0]", {}},
                                                                {"a.0.v_proj.weight", "F32", "[0,0]", {}},
                                                                {"a.0.o_proj.weight", "F32", "[32,64]", ramp(2048)}}));
        for (const auto& [layout, spec] : kLayoutCases) {
            const auto* row = qs::findLayout(layout);
            if (row->fileEnding && QByteArray(row->fileEnding) == ".gguf") continue; // it takes GGUF files alone
            const QString out = dir.filePath(s(layout) + s(row->fileEnding ? row->fileEnding : ".safetensors"));
            const auto ran = run({s("quantize"), in, s("--spec"), s(spec), s("--layout"), s(layout), s("-o"), out});
            QVERIFY2(ran.code == 0, (QByteArray(layout) + ": " + ran.err).constData());
            const QString back = dir.filePath(s(layout) + s("-back.safetensors"));
            const auto read = run({s("dequantize"), out, s("-o"), back});
            QVERIFY2(read.code == 0 && read.err.isEmpty(), (QByteArray(layout) + ": " + read.err).constData());
            QStringList shapes;
            for (const auto& tensor : rows(run({s("inspect"), back, s("--json"), s("-")}).out, "tensors"))
                shapes << QString::fromUtf8(
                    QJsonDocument(tensor.toObject()[s("shape")].toArray()).toJson(QJsonDocument::Compact));
            QVERIFY2(shapes == QStringList({s("[64,0]"), s("[32,64]"), s("[0,64]"), s("[0,0]")}), layout);
        }
    }

    void valuesOfCopiesThatAreNotFiniteAreCounted() {
        QTemporaryDir dir;
        const QString in = put(dir.filePath(s("in.safetensors")),
                               safetensors({{"a.weight", "F32", "[4,64]", ramp(256)},
                                            {"b.bias", "F32", "[3]", floats({NAN, 1, INFINITY})},
                                            {"c.bias", "BF16", "[2]", QByteArray("\x80\xff\x80\x3f", 4)},
                                            {"d.bias", "F32", "[1]", floats({1})}}));
        for (const char* output : {"out.safetensors", "out", "out.npz"}) {
            const auto ran = run({s("quantize"), in, s("--spec"), s("int8"), s("-o"), dir.filePath(s(output))});
            QVERIFY2(ran.code == 0, ran.err.constData());
            QVERIFY2(
                ran.out.contains("2 of the copied tensors hold 3 values that are NaN or infinite, such as 'b.bias'"),
                ran.out.constData());
        }
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

QS_TEST(TestQuantize)
#include "quantize_test.moc"
