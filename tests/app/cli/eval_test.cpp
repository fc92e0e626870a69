// SPDX-License-Identifier: GPL-3.0-or-later
// The command eval on the real program: what it compares, base-logits files, and refusals.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

#include <cmath>

using namespace clitest;

namespace {

QJsonObject rowOf(const Ran& ran, int index = 0) { return rows(ran.out)[index].toObject(); }
double figure(const QJsonObject& row, const char* id) {
    return row[s(id)].isDouble() ? row[s(id)].toDouble() : std::nan("");
}

} // namespace

class TestEval : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }
    /// eval over the first chunks of the sample's text.
    Ran eval(const QStringList& more, const QString& model = kSample) {
        return run(QStringList{s("eval"), model, s("--ctx"), s("64"), s("--chunks"), s("3")} + more);
    }
    QStringList text() const { return {s("--text"), kSample + s("/heldout.txt")}; }
    static QStringList json() { return {s("--json"), s("-")}; }
    void refuses(const Ran& ran, const char* why) {
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
    }

private Q_SLOTS:
    void recipesAndModelsAreRows();
    void worstTokensAndPositions();
    void aRecipeIsWhatItSays();
    void theFloorIsFarBelow();
    void baseFilesComeBack();
    void llamaFigures();
    void aBackendServes();
    void aCrashedBackendCostsItsRows();
    void absentBackendsSayWhy();
    void badRequests();
    void badTexts();
    void badModels();
    void whatQuantizeRefusesIsSaid();
};

void TestEval::recipesAndModelsAreRows() {
    const QString recipe = put(path("recipe.json"), R"({"version":1,"default":"int4:block=32","rules":[]})");
    const auto ran = eval(
        text() + QStringList{s("--spec"), s("int4:block=32"), s("--recipe"), recipe, s("--against"), kSample} + json());
    QVERIFY2(ran.code == 0, ran.err.constData());
    QCOMPARE(rows(ran.out).size(), 3);
    QCOMPARE(rowOf(ran, 0)[s("spec")].toString(), s("int4:block=32"));
    QCOMPARE(rowOf(ran, 1)[s("recipe")].toString(), s("recipe.json"));
    QCOMPARE(rowOf(ran, 2)[s("against")].toString(), s("tiny-llama"));
    QCOMPARE(figure(rowOf(ran, 2), "kl_mean"), 0.0); // the same model
    QVERIFY(figure(rowOf(ran, 0), "kl_mean") > 1e-4);
    // A spec is for all that a recipe of it takes: the embedding and the head too. The row says how much that is.
    QCOMPARE(figure(rowOf(ran, 1), "kl_mean"), figure(rowOf(ran, 0), "kl_mean"));
    for (const int i : {0, 1}) {
        QCOMPARE(rowOf(ran, i)[s("matrices")].toInt(), 58); // 8 layers of 7, the embedding, the head
        QCOMPARE(figure(rowOf(ran, i), "bpw"), 5.0);        // 4 bits, and a scale of 32 for 32 values
        QVERIFY(figure(rowOf(ran, i), "bytes") > 0 && figure(rowOf(ran, i), "bpw_all") > 5.0);
    }
    QCOMPARE(rowOf(ran, 2)[s("matrices")].toInt(), 0); // nothing is stored quantized
    QCOMPARE(figure(rowOf(ran, 2), "bpw_all"), 16.0);
    const auto pairs = rows(ran.out, "pairs");
    QCOMPARE(pairs.size(), 3);
    QCOMPARE(pairs[0].toObject()[s("first")].toString(), s("int4:block=32"));
    const double difference = figure(rowOf(ran, 1), "kl_mean") - figure(rowOf(ran, 0), "kl_mean");
    QVERIFY(std::fabs(figure(pairs[0].toObject(), "kl_difference") - difference) < 1e-12);
    QCOMPARE(rows(ran.out, "chunks").size(), 9);
    QCOMPARE(rowOf(ran, 0)[s("status")].toString(), s("ok"));
    QCOMPARE(rowOf(ran, 0)[s("nonfinite")].toInt(), 0);
}

void TestEval::worstTokensAndPositions() {
    const auto ran = eval(text() + QStringList{s("--spec"), s("int4:block=32"), s("--no-floor")} + json());
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto worst = rows(ran.out, "worst_tokens"), positions = rows(ran.out, "positions");
    QCOMPARE(worst.size(), 93); // of 3 chunks of 64, all scored tokens
    QCOMPARE(figure(worst[0].toObject(), "kld"), figure(rowOf(ran), "kl_max"));
    for (int i = 1; i < worst.size(); ++i)
        QVERIFY(figure(worst[i].toObject(), "kld") <= figure(worst[i - 1].toObject(), "kld"));
    QVERIFY(!worst[0].toObject()[s("token")].toString().isEmpty());
    double sum = 0, tokens = 0;
    for (const auto& range : positions) {
        const double count = range.toObject()[s("tokens")].toDouble();
        sum += count * figure(range.toObject(), "kl_mean"), tokens += count;
    }
    QCOMPARE(tokens, 93.0);
    QVERIFY(std::fabs(sum / tokens - figure(rowOf(ran), "kl_mean")) < 1e-12);
}

void TestEval::aRecipeIsWhatItSays() {
    // All matrices of layers and nothing else: what --tensor does.
    const QString recipe = put(path("layers.json"),
                               R"({"version":1,"default":"keep","rules":[{"tensor":"layers","spec":"nf4:block=32"}]})");
    const auto ran = eval(text() +
                          QStringList{s("--spec"), s("nf4:block=32"), s("--recipe"), recipe, s("--tensor"), s("layers"),
                                      s("--no-floor")} +
                          json());
    QVERIFY2(ran.code == 0, ran.err.constData());
    QCOMPARE(figure(rowOf(ran, 1), "kl_mean"), figure(rowOf(ran, 0), "kl_mean"));
    QVERIFY(rowOf(ran, 0)[s("floor_kl")].isNull());
}

void TestEval::theFloorIsFarBelow() {
    const auto ran = eval(text() + QStringList{s("--spec"), s("f32"), s("--spec"), s("int8:block=32")} + json());
    QVERIFY2(ran.code == 0, ran.err.constData());
    const double floor = figure(rowOf(ran), "floor_kl");
    QVERIFY2(floor > 0 && floor < 1e-9, ran.out.constData()); // sums of f32 in another order are not the same
    QVERIFY(rowOf(ran, 0)[s("below_floor")].toBool());
    QVERIFY(!rowOf(ran, 1)[s("below_floor")].toBool());
}

void TestEval::baseFilesComeBack() {
    const QString base = path("base.logits");
    const auto saved = eval(text() + QStringList{s("--save-base"), base});
    QVERIFY2(saved.code == 0, saved.err.constData());
    QCOMPARE(bytesOf(base).size(), qsizetype(20 + 4 * 192 + 3 * 31 * 2 * (256 + 4)));
    const QStringList specs{s("--spec"), s("f32"), s("--spec"), s("int3:block=32")};
    const auto with = eval(QStringList{s("--base"), base} + specs + json());
    QVERIFY2(with.code == 0, with.err.constData());
    const auto without = eval(text() + specs + json());
    QVERIFY(std::fabs(figure(rowOf(with), "kl_mean")) < 1e-5); // 16 bits
    QVERIFY(std::fabs(figure(rowOf(with, 1), "kl_mean") / figure(rowOf(without, 1), "kl_mean") - 1) < 1e-3);
    QVERIFY(figure(rowOf(with), "floor_kl") > figure(rowOf(without), "floor_kl"));
    // With the text beside it, which must be the same.
    QCOMPARE(eval(text() + QStringList{s("--base"), base} + specs).code, 0);
    QString other = put(path("other.txt"), QByteArray("X") + bytesOf(kSample + s("/heldout.txt")));
    refuses(eval(QStringList{s("--text"), other, s("--base"), base} + specs), "another text or with another tokenizer");
    refuses(run({s("eval"), kSample, s("--base"), base, s("--spec"), s("f32"), s("--ctx"), s("32")}),
            "was made with a context of 64 tokens, not 32: use --ctx 64.");
    refuses(run({s("eval"), s("tests/data/eval/llama"), s("--base"), base, s("--spec"), s("f32")}), "vocabulary");
    put(path("cut.logits"), bytesOf(base).chopped(1));
    refuses(eval(QStringList{s("--base"), path("cut.logits")} + specs), "is no base-logits file of llama.cpp");
}

void TestEval::llamaFigures() {
    const auto ran = run(QStringList{s("eval"), kSample, s("--ctx"), s("128"), s("--chunks"), s("2"), s("--spec"),
                                     s("int3:block=32"), s("--llama-cpp"), s("--no-floor")} +
                         text());
    QVERIFY2(ran.code == 0, ran.err.constData());
    for (const char* line : {"chunk             PPL", "\n   2    ",
                             "Mean PPL(Q)                   : ", "99.9%   KLD: ", "RMS Δp    : ", "Same top p: "})
        QVERIFY2(ran.out.contains(line), ran.out.constData());
}

void TestEval::aBackendServes() {
    const QStringList specs{s("--spec"), s("int8:block=32"), s("--no-floor")};
    const auto exact = eval(text() + specs + json());
    const auto served =
        eval(text() + specs + QStringList{s("--backend"), s("cpu"), s("--variant"), s("reference")} + json());
    const auto rounded = eval(text() + specs + QStringList{s("--backend"), s("cpu"), s("--act"), s("int8")} + json());
    QVERIFY2(exact.code == 0 && served.code == 0 && rounded.code == 0, (served.err + rounded.err).constData());
    QCOMPARE(rows(served.out).size(), 2);
    // The row of the weights alone is what it is without a backend.
    QCOMPARE(figure(rowOf(served, 0), "kl_mean"), figure(rowOf(exact), "kl_mean"));
    QCOMPARE(rowOf(served, 0)[s("served_by")].toString(), s("f32"));
    QCOMPARE(rowOf(served, 1)[s("served_by")].toString(), s("cpu, f32 activations, reference"));
    // A backend multiplies with the codes; the other row has their values in the type of the source, as a file holds them.
    QVERIFY(std::fabs(figure(rowOf(served, 1), "kl_mean") / figure(rowOf(exact), "kl_mean") - 1) < 0.1);
    QVERIFY(rowOf(rounded, 1)[s("served_by")].toString().startsWith(s("cpu, int8 activations, ")));
    QVERIFY(figure(rowOf(rounded, 1), "kl_mean") > 1.5 * figure(rowOf(exact), "kl_mean"));
    const QString recipe = put(
        path("kept.json"), R"({"version":1,"default":"keep","rules":[{"tensor":"v_proj","spec":"int4:block=32"}]})");
    const auto partly =
        eval(text() + QStringList{s("--recipe"), recipe, s("--no-floor"), s("--backend"), s("cpu")} + json());
    QVERIFY2(partly.code == 0, partly.err.constData());
    QVERIFY(std::fabs(figure(rowOf(partly, 1), "kl_mean") / figure(rowOf(partly, 0), "kl_mean") - 1) < 0.2);
}

void TestEval::aCrashedBackendCostsItsRows() {
    const QString plugin = s(QS_BUILD_DIR "/lib/quantscope/test-backends/bad.so");
    for (const char* fault : {"execute:crash", "prepare:crash", "execute:failed"}) {
        const auto ran = eval(text() + QStringList{s("--spec"), s("f32"), s("--no-floor"), s("--plugin"), plugin,
                                                   s("--backend"), s("bad.so:fault=") + s(fault)});
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains("Nothing could be served"), ran.err.constData());
        QVERIFY2(ran.err.contains(QByteArray(fault).contains("crash") ? "SIGSEGV" : "no luck"), ran.err.constData());
        QVERIFY2(ran.out.contains("f32 on bad.so:fault="),
                 ran.out.constData()); // the exact row is printed all the same
    }
    refuses(eval(text() + QStringList{s("--spec"), s("f32"), s("--plugin"), plugin, s("--backend"),
                                      s("bad.so:fault=open:crash")}),
            "SIGSEGV");
}

void TestEval::absentBackendsSayWhy() {
    const QStringList spec = text() + QStringList{s("--spec"), s("int8"), s("--no-floor")};
    refuses(eval(spec + QStringList{s("--backend"), s("tpu")}), "There is no backend 'tpu'; the backends are cpu, ");
    refuses(eval(spec + QStringList{s("--backend"), s("pjrt")}), "The backend pjrt: ");
    refuses(eval(spec + QStringList{s("--variant"), s("reference")}), "name it with --backend");
    refuses(eval(text() + QStringList{s("--against"), kSample, s("--backend"), s("cpu")}), "needs something to serve");
    refuses(eval(spec + QStringList{s("--backend"), s("cpu"), s("--variant"), s("none")}),
            "has no variant none for this; it has ");
    refuses(eval(text() + QStringList{s("--spec"), s("int4:block=32:sym=no"), s("--backend"), s("cpu")}),
            "zero points do not cross the backend interface yet: use int8");
    if (!QFile::exists(s("/dev/nvidiactl")))
        refuses(eval(spec + QStringList{s("--backend"), s("cuda")}), "The backend cuda: ");
}

void TestEval::badRequests() {
    refuses(eval(text()), "use --spec SPEC, --recipe FILE or --against MODEL.");
    refuses(eval({s("--spec"), s("nf4")}), "eval needs one text");
    refuses(eval(text() + QStringList{s("--spec"), s("nf4"), s("--llama-cpp"), s("--scored"), s("all")}),
            "needs --scored second-half");
    refuses(eval(text() + QStringList{s("--recipe"), put(path("bad.json"), "{}")}), "is not a recipe");
    const QString none = put(path("none.json"), R"({"version":1,"rules":[{"tensor":"nothing","spec":"nf4"}]})");
    refuses(eval(text() + QStringList{s("--recipe"), none}), "quantizes no matrix of this model");
    const QString regex = put(path("regex.json"), R"({"version":1,"rules":[{"tensor":"(","spec":"nf4"}]})");
    refuses(eval(text() + QStringList{s("--recipe"), regex}), "is not a regular expression");
    refuses(eval(text() + QStringList{s("--against"), s("tests/data/eval/llama")}), "Its vocabulary has ");
}

void TestEval::badTexts() {
    const QStringList spec{s("--spec"), s("nf4:block=32")};
    refuses(eval(QStringList{s("--text"), put(path("short.txt"), "abc")} + spec),
            "The text has 3 tokens; a context of 64 needs at least 64.");
    refuses(eval(QStringList{s("--tokens"), put(path("ids.txt"), "1 2 3 256 5")} + spec),
            "Token 4 of the text is 256; the vocabulary has 256 tokens, from 0 on.");
    refuses(eval(QStringList{s("--text"), put(path("latin.txt"), "\xff\xfe abc")} + spec), "UTF-8");
    refuses(eval(QStringList{s("--text"), kSample + s("/heldout.txt")} + spec, s("tests/data/eval/llama")),
            "tokenizer");
}

void TestEval::badModels() {
    const QStringList more = QStringList{s("--tokens"), put(path("few.txt"), "1 2 3 4 5 6 7 8"), s("--spec"), s("nf4")};
    QDir().mkpath(path("wrong"));
    QFile::copy(s("tests/data/eval/llama/model.safetensors"), path("wrong/model.safetensors"));
    QByteArray config = bytesOf(s("tests/data/eval/llama/config.json"));
    config.replace("\"num_hidden_layers\": ", "\"num_hidden_layers\": 1");
    put(path("wrong/config.json"), config);
    refuses(eval(more, path("wrong")), "has no tensor ");
    put(path("wrong/config.json"),
        bytesOf(s("tests/data/eval/llama/config.json")).replace("\"hidden_size\": ", "\"hidden_size\": 1"));
    const auto ran = eval(more, path("wrong"));
    refuses(ran, "the configuration says");

    QByteArray weights = bytesOf(s("tests/data/eval/llama/model.safetensors")); // a norm gives NaN
    const qint64 headerBytes = qint64(*reinterpret_cast<const quint64*>(weights.constData()));
    const auto norm = QJsonDocument::fromJson(weights.mid(8, headerBytes))
                          .object()[s("model.layers.0.input_layernorm.weight")]
                          .toObject();
    const auto span = norm[s("data_offsets")].toArray();
    const qint64 begin = span[0].toInteger(), size = span[1].toInteger() - begin;
    QVERIFY(size > 0);
    weights.replace(8 + headerBytes + begin, size, QByteArray(size, '\xff'));
    put(path("nan/model.safetensors"), weights);
    put(path("nan/config.json"), bytesOf(s("tests/data/eval/llama/config.json")));
    refuses(run(QStringList{s("eval"), path("nan"), s("--ctx"), s("4"), s("--scored"), s("all")} + more),
            "No logit is a finite number");
    for (const char* file : {"nan.gguf", "nan.safetensors"}) {
        refuses(
            run({s("capture"), path("nan"), s("--tokens"), path("few.txt"), s("--ctx"), s("4"), s("-o"), path(file)}),
            "Inputs of layer 0 are NaN or Inf");
        QVERIFY(!QFile::exists(path(file)));
    }
}

/// `quantize` refuses the stacked experts in the layout of the dialect. The arithmetic is measured, and the row says so.
void TestEval::whatQuantizeRefusesIsSaid() {
    const QString mixture = s("tests/data/eval/mixtral"), spec = s("nf4:dialect=bnb:block=32");
    const QStringList more{s("--tokens"), put(path("some.txt"), "1 2 3 4 5 6 7 8"), s("--ctx"), s("4"),
                           s("--spec"),   spec};
    const auto quantized = run({s("quantize"), mixture, s("--spec"), spec, s("-o"), path("refused")});
    QVERIFY2(quantized.code == 1 && quantized.err.contains("experts"), quantized.err.constData());
    for (const char* command : {"eval", "sensitivity"}) {
        const auto ran = run(QStringList{s(command), mixture} + more);
        QVERIFY2(ran.code == 0 && ran.out.contains("layout bnb, in which quantize stores it, refuses it: "),
                 ran.out.constData());
    }
    const auto row = rowOf(run(QStringList{s("eval"), mixture} + more + json()));
    QCOMPARE(row[s("status")].toString(), s("ok"));
    QVERIFY(figure(row, "kl_mean") > 0 && row[s("reason")].toString().contains(s("refuses it")));
}

QS_TEST(TestEval)
#include "eval_test.moc"
