// SPDX-License-Identifier: GPL-3.0-or-later
// Commands sweep, whatif, train, products and kvcache on the real program: known figures, refusals, files.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QTemporaryDir>

#include <cmath>

using namespace clitest;

class TestLabs : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString model_, wide_;
    QString path(const char* name) { return dir_.filePath(s(name)); }
    QJsonArray json(QStringList arguments, const char* key = "rows") {
        const auto ran = run(arguments << s("--json") << s("-"));
        if (ran.code != 0) qWarning("%s", ran.err.constData());
        return rows(ran.out, key);
    }
    static QByteArray values(int n, unsigned seed) {
        std::vector<float> out;
        for (int i = 0; i < n; ++i) {
            seed = seed * 1664525u + 1013904223u;
            out.push_back((float(seed >> 8) / 8388608.f - 1) / 16);
        }
        return floats(out);
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("QUANTSCOPE_FORMATS", path("formats").toUtf8());
        model_ =
            put(path("m.safetensors"), safetensors({{"layers.0.q_proj.weight", "F32", "[32,64]", values(2048, 1)},
                                                    {"layers.0.up_proj.weight", "F32", "[48,64]", values(3072, 2)}}));
        QVERIFY(!model_.isEmpty());
        wide_ = put(path("wide.safetensors"), safetensors({{"w", "F32", "[2,262144]", values(2 * 262'144, 4)}}));
        QVERIFY(!wide_.isEmpty());
        QByteArray header = "{'descr': '<f4', 'fortran_order': False, 'shape': (40, 64), }";
        QByteArray npy("\x93NUMPY\x01\x00", 8);
        npy += char(header.size()), npy += '\0';
        QVERIFY(!put(path("x.npy"), npy + header + values(40 * 64, 3)).isEmpty());
    }

    /// The needed memory is checked before it is used; the message says what would fit.
    void whatNoMachineHasIsRefused() {
        constexpr qint64 bytes = qint64(1) << 36; // which take no disk
        QByteArray header = R"({"w":{"dtype":"BF16","shape":[131072,262144],"data_offsets":[0,68719476736]}})";
        while (header.size() % 8) header += ' ';
        const quint64 length = quint64(header.size());
        const QString huge =
            put(path("huge.safetensors"), QByteArray(reinterpret_cast<const char*>(&length), 8) + header);
        QVERIFY(QFile::resize(huge, 8 + header.size() + bytes));
        for (const auto& arguments :
             {QStringList{s("whatif"), huge, s("--tensor"), s("w"), s("--spec"), s("int8")},
              QStringList{s("kvcache"), s("--heads"), s("1024"), s("--tokens"), s("65536"), s("--dim"), s("4096")},
              QStringList{s("products"), wide_, s("--tensor"), s("w"), s("--rows"), s("1048576")},
              QStringList{s("train"), wide_, s("--tensor"), s("w"), s("--spec"), s("int4:block=32"), s("--rows"),
                          s("1048576")}}) {
            QElapsedTimer timer;
            timer.start();
            const auto ran = run(arguments);
            QCOMPARE(ran.code, 1);
            QVERIFY2(isSentence(ran.err) && ran.err.contains(" of memory, and ") &&
                         ran.err.contains(" are available; "),
                     ran.err.constData());
            QVERIFY(timer.elapsed() < 20'000);
        }
    }

    void sweep() {
        const QStringList arguments{s("sweep"),   model_,  s("--spec"),  s("nf4"), s("--spec"), s("int8:scale=channel"),
                                    s("--block"), s("32"), s("--block"), s("64")};
        const auto points = json(arguments);
        QCOMPARE(points.size(), 3 * 3); // all tensors and two roles; two block sizes and a channel
        const auto analysed = json({s("analyze"), model_, s("--spec"), s("nf4:block=64"), s("--tensor"), s("q_proj")});
        bool found = false;
        for (const auto& each : points) {
            const auto point = each.toObject();
            if (point[s("class")] != s("q_proj") || point[s("spec")] != s("nf4:block=64")) continue;
            found = true;
            QCOMPARE(point[s("bpw")].toDouble(), 4.5);
            QVERIFY(std::fabs(point[s("nmse")].toDouble() / analysed[0].toObject()[s("nmse")].toDouble() - 1) < 1e-12);
        }
        QVERIFY(found);
        const auto text = run(arguments);
        QVERIFY(text.code == 0 && text.out.contains("frontier of each class"));
        const auto files = run(QStringList(arguments) << s("--html") << path("s.html") << s("--csv") << path("s.csv")
                                                      << s("--md") << path("s.md") << s("--pdf") << path("s.pdf"));
        QVERIFY2(files.code == 0, files.err.constData());
        QVERIFY(bytesOf(path("s.html")).contains("class=\"front\"") && bytesOf(path("s.pdf")).startsWith("%PDF"));
        QCOMPARE(bytesOf(path("s.csv")).count('\n'), 10);
        const auto none = run({s("sweep"), model_, s("--spec"), s("q2_k")});
        QVERIFY(none.code == 1 && isSentence(none.err) && none.err.contains("None of the 3 points"));
        const auto block = run({s("sweep"), model_, s("--spec"), s("nf4"), s("--block"), s("7")});
        QVERIFY(block.code == 1 && isSentence(block.err) && block.err.contains("even"));
        QCOMPARE(run({s("sweep"), model_, s("--block"), s("x")}).code, 2);
    }

    void whatif() {
        const QStringList arguments{s("whatif"), model_, s("--tensor"), s("q_proj"), s("--spec"), s("nf4:block=64")};
        QVERIFY(json(arguments).size() >= 6);
        auto rows = json(QStringList(arguments) << s("--transpose") << s("0,1"));
        QCOMPARE(rows.size(), 1);
        QCOMPARE(rows[0].toObject()[s("caused_nmse")].toDouble(-1), 0.0);
        rows = json(QStringList(arguments) << s("--shard") << s("model=4 / model,-"));
        QCOMPARE(rows[0].toObject()[s("bytes_per_device")].toInt(), 8 * 64 / 2 + 8 * 4);
        const auto wrong = run(QStringList(arguments) << s("--transpose") << s("7"));
        QVERIFY(wrong.code == 1 && isSentence(wrong.err) && wrong.err.contains("not an order"));
        const auto two = run({s("whatif"), model_, s("--tensor"), s("proj"), s("--spec"), s("nf4")});
        QVERIFY(two.code == 1 && isSentence(two.err) && two.err.contains("takes 2 tensors"));
    }

    void training() {
        const QStringList arguments{s("train"),         model_,        s("--tensor"), s("q_proj"),   s("--spec"),
                                    s("int4:block=32"), s("--steps"),  s("40"),       s("--inputs"), path("x.npy"),
                                    s("--keep"),        s("small_qat")};
        const auto ran = run(QStringList(arguments) << s("--json") << s("-"));
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto row = rows(ran.out)[0].toObject();
        QVERIFY(row[s("trained_nmse")].toDouble() < 0.95 * row[s("nearest_nmse")].toDouble());
        QCOMPARE(row[s("trained_spec")].toString(), s("int4:block=32:dialect=small_qat"));
        QCOMPARE(rows(ran.out, "curve").size(), 41);
        // Another process knows the trained spec and measures the same error.
        const auto analysed = json(
            {s("analyze"), model_, s("--spec"), s("int4:block=32"), s("--spec"), s("int4:block=32:dialect=small_qat")});
        QCOMPARE(analysed.size(), 4);
        QCOMPARE(analysed[1].toObject()[s("nmse")].toDouble(), row[s("weight_nmse")].toDouble());
        QVERIFY(analysed[1].toObject()[s("nmse")] != analysed[0].toObject()[s("nmse")]);
        QCOMPARE(analysed[3].toObject()[s("nmse")], analysed[2].toObject()[s("nmse")]); // up_proj was not trained
        const auto written = run({s("quantize"), model_, s("--spec"), s("int4:block=32:dialect=small_qat"),
                                  s("--layout"), s("native"), s("-o"), path("q.safetensors")});
        QVERIFY2(written.code == 0, written.err.constData());
        const auto again = run(arguments);
        QVERIFY(again.code == 1 && isSentence(again.err) && again.err.contains("already"));
        const auto misfit = run({s("train"), model_, s("--tensor"), s("q_proj"), s("--spec"), s("int4"), s("--inputs"),
                                 model_, s("--steps"), s("2")});
        QVERIFY2(misfit.code == 0, misfit.err.constData()); // the checkpoint has a tensor of the same name that fits
    }

    void products() {
        const QStringList arguments{s("products"), model_, s("--tensor"), s("up_proj"), s("--rows"), s("32")};
        QVERIFY(json(arguments).size() % 3 == 0 && json(arguments).size() >= 21); // all presets
        auto rows = json(QStringList(arguments) << s("--preset") << s("fp8_full") << s("--inputs") << path("x.npy"));
        QCOMPARE(rows.size(), 3);
        for (const auto& row : rows) QVERIFY(row.toObject()[s("sqnr_db")].toDouble() > 20);
        rows = json(QStringList(arguments) << s("--operand") << s("y:w=nf4"));
        QVERIFY(rows[0].toObject()[s("sqnr_db")].toDouble() > 10);
        QVERIFY(rows[1].toObject()[s("sqnr_db")].isNull() && !rows[1].toObject()[s("reason")].toString().isEmpty());
        for (const char* wrong : {"--preset nope", "--operand y=nf4", "--operand y:w", "--inputs /nonexistent.npy"}) {
            const auto ran = run(arguments + s(wrong).split(u' '));
            QVERIFY2(ran.code == 1 && isSentence(ran.err), ran.err.constData());
        }
    }

    /// The labs decode tensors stored by `quantize` in the same way as `dequantize`.
    void storedCheckpoints() {
        for (const char* spec : {"nf4:block=32", "int4:block=32:sym=no"}) {
            const QString stored = path("stored.safetensors"), decoded = path("decoded.safetensors");
            const QString layout = s(spec[0] == 'n' ? "eformer" : "native");
            QVERIFY(run({s("quantize"), model_, s("--spec"), s(spec), s("--layout"), layout, s("-o"), stored}).code ==
                    0);
            QVERIFY(run({s("dequantize"), stored, s("-o"), decoded}).code == 0);
            for (const char* lab : {"whatif --spec int8", "products --rows 32 --preset fp8_full --inputs ",
                                    "train --spec int4:block=16 --steps 3 --inputs "}) {
                const auto rowsOf = [&](const QString& file) {
                    QStringList arguments = s(lab).split(u' ', Qt::SkipEmptyParts);
                    if (arguments.back() == s("--inputs")) arguments << file;
                    arguments.insert(1, file);
                    auto rows = json(arguments << s("--tensor") << s("q_proj"));
                    for (auto row : rows) { // differs: the name of the file
                        auto object = row.toObject();
                        object.remove(s("inputs"));
                        row = object;
                    }
                    return rows;
                };
                const auto rows = rowsOf(stored);
                QVERIFY2(!rows.isEmpty() && rows == rowsOf(decoded), lab);
            }
        }
        const auto two =
            run({s("whatif"), path("stored.safetensors"), s("--tensor"), s("proj"), s("--spec"), s("nf4")});
        QVERIFY(two.code == 1 && isSentence(two.err) && two.err.contains("takes 2 tensors"));
        const auto onto = run({s("whatif"), path("stored.safetensors"), s("--tensor"), s("q_proj"), s("--spec"),
                               s("nf4"), s("--json"), path("stored.safetensors")});
        QVERIFY(onto.code == 1 && isSentence(onto.err));

        const auto heads =
            put(path("kv.safetensors"),
                safetensors({{"k", "F32", "[2,24,32]", values(1536, 5)}, {"v", "F32", "[2,24,32]", values(1536, 6)}}));
        const QString stored = path("kv_stored.safetensors"), decoded = path("kv_decoded.safetensors");
        QVERIFY(run({s("quantize"), heads, s("--spec"), s("int8"), s("-o"), stored}).code == 0);
        QVERIFY(run({s("dequantize"), stored, s("-o"), decoded}).code == 0);
        const auto cache = json({s("kvcache"), s("--inputs"), stored, s("--spec"), s("int4")});
        QVERIFY(cache.size() == 1 && cache == json({s("kvcache"), s("--inputs"), decoded, s("--spec"), s("int4")}));
    }

    void cache() {
        const auto rows = json({s("kvcache"), s("--spec"), s("int8"), s("--spec"), s("int4"), s("--tokens"), s("64")});
        QCOMPARE(rows.size(), 2);
        QCOMPARE(rows[0].toObject()[s("bytes_per_token")].toDouble(), 2.0 * 4 * (64 + 4));
        QVERIFY(rows[0].toObject()[s("output_nmse")].toDouble() < rows[1].toObject()[s("output_nmse")].toDouble());
        const auto none = run({s("kvcache"), s("--inputs"), model_});
        QVERIFY(none.code == 1 && isSentence(none.err) && none.err.contains("no tensor named k"));
    }
};

QS_TEST(TestLabs)
#include "labs_test.moc"
