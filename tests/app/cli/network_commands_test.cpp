// SPDX-License-Identifier: GPL-3.0-or-later
// The commands sensitivity, capture and tokenize on the real program, and what other commands do with their files.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

#include <cmath>
#include <sys/stat.h>

using namespace clitest;

namespace {} // namespace

class TestNetworkCommands : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }
    /// A command over the first two chunks of the sample's text.
    Ran over(const char* command, const QStringList& more) {
        return run(QStringList{s(command), kSample, s("--text"), kText, s("--ctx"), s("64"), s("--chunks"), s("2")} +
                   more);
    }
    Ran sensitivity(const QStringList& more) {
        return over("sensitivity", QStringList{s("--cache"), path("cache"), s("--json"), s("-")} + more);
    }
    void refuses(const Ran& ran, const char* why) {
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
    }

private Q_SLOTS:
    void aloneRanksRoles();
    void finishedRunsAreFound();
    void slopePredicts();
    void proxiesAreHeldAgainstWhatIsMeasured();
    void evidenceStandsBesideTheWeights();
    void importsHaveTheirFloor();
    void badEvidence();
    void badSensitivities();
    void capturedInputsServeSolvers();
    void capturedImportanceWeighsErrors();
    void badCaptures();
    void tokensComeBack();
    void badTexts();
    void hostileTokenizers_data();
    void hostileTokenizers();
};

void TestNetworkCommands::aloneRanksRoles() {
    const auto ran = sensitivity({s("--spec"), s("int4:block=32"), s("--by"), s("role")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto provenance = QJsonDocument::fromJson(ran.out).object()[s("provenance")].toObject();
    QVERIFY(provenance[s("tokenizer")].toString().endsWith(s("tokenizer.json")));
    for (const char* hash : {"text_sha256", "tokenizer_sha256"})
        QCOMPARE(provenance[s(hash)].toString().size(), qsizetype(64));
    QCOMPARE(provenance[s("template")].toString(), s("none"));
    QCOMPARE(provenance[s("scored")].toString(), s("second half of every chunk"));
    QVERIFY(provenance[s("chunks")].toInt() > 0 && provenance[s("context")].toInt() > 0);
    QVERIFY(provenance[s("seeds")].toString().startsWith(s("none")));
    const auto units = rows(ran.out), sums = rows(ran.out, "additivity");
    QVERIFY(units.size() >= 4 && sums.size() == 1);
    double sum = 0;
    for (const auto& unit : units) {
        QVERIFY(unit.toObject()[s("kl")].toDouble() > 0);
        QVERIFY(unit.toObject()[s("kl_se_chunk")].toDouble() > 0);
        sum += unit.toObject()[s("kl")].toDouble();
    }
    QVERIFY(std::fabs(sums[0].toObject()[s("sum")].toDouble() - sum) < 1e-9 * sum);
    // For people: a column without anything to say is left out, and no reason is called a measurement.
    const auto shown =
        over("sensitivity", {s("--cache"), path("cache"), s("--spec"), s("int4:block=32"), s("--by"), s("role")});
    QVERIFY2(shown.code == 0, shown.err.constData());
    QVERIFY(shown.out.contains("Additivity") && !shown.out.contains("Reason"));
    // All units at once are what eval measures.
    const auto whole = over("eval", {s("--spec"), s("int4:block=32"), s("--no-floor"), s("--json"), s("-")});
    QVERIFY2(whole.code == 0, whole.err.constData());
    const double all = rows(whole.out)[0].toObject()[s("kl_mean")].toDouble();
    QVERIFY(std::fabs(sums[0].toObject()[s("all")].toDouble() - all) < 1e-6 * all);
}

void TestNetworkCommands::finishedRunsAreFound() {
    const QStringList wanted = {s("--spec"), s("nf4:block=64"), s("--by"), s("layer")};
    const auto first = sensitivity(wanted), again = sensitivity(wanted);
    QCOMPARE(sensitivity(wanted + QStringList{s("--until"), s("0.25")}).code, 0);
    QVERIFY2(first.code == 0 && again.code == 0, again.err.constData());
    QCOMPARE(rows(again.out), rows(first.out));
    QVERIFY(QDir(path("cache")).entryList(QDir::Files).size() > 0);
}

void TestNetworkCommands::slopePredicts() {
    const auto ran = sensitivity({s("--spec"), s("int8:block=32"), s("--by"), s("layer"), s("--how"), s("slope")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto provenance = QJsonDocument::fromJson(ran.out).object()[s("provenance")].toObject();
    QCOMPARE(provenance[s("seeds")].toString(), s("18 for the noise of slope"));
    for (const auto& row : rows(ran.out)) {
        const auto unit = row.toObject();
        const double predicted = unit[s("slope")].toDouble() * unit[s("nmse")].toDouble();
        QVERIFY(predicted > 0);
        QVERIFY(std::fabs(unit[s("predicted")].toDouble() - predicted) < 1e-9 * predicted);
    }
}

void TestNetworkCommands::proxiesAreHeldAgainstWhatIsMeasured() {
    const QStringList wanted = {s("--spec"), s("int3:block=32"), s("--tensor"), s("k_proj"),
                                s("--how"),  s("alone"),         s("--how"),    s("output")};
    const auto ran = sensitivity(wanted);
    QVERIFY2(ran.code == 0, ran.err.constData());
    QCOMPARE(rows(ran.out).size(), 16); // two ways, eight tensors
    QStringList proxies;
    for (const auto& row : rows(ran.out, "trust")) {
        const auto one = row.toObject();
        proxies << one[s("proxy")].toString();
        QVERIFY(one[s("tau_low")].toDouble() <= one[s("tau")].toDouble());
        QVERIFY(one[s("tau")].toDouble() <= one[s("tau_high")].toDouble());
        QVERIFY(!one[s("misjudged")].toString().isEmpty());
    }
    QCOMPARE(proxies, QStringList({s("NMSE"), s("Weighted NMSE"), s("Layer output NMSE")}));
    const auto shown = over("sensitivity", QStringList{s("--cache"), path("cache")} + wanted);
    QVERIFY(shown.out.contains("Trust in proxies") && shown.out.contains("Kendall"));
    QStringList four = {s("--no-floor"), s("--json"), s("-")};
    for (const char* spec : {"int2:block=32", "int3:block=32", "int4:block=32", "int8:block=32"})
        four << s("--spec") << s(spec);
    const auto specs = over("eval", four);
    QVERIFY2(specs.code == 0, specs.err.constData());
    bool found = false;
    for (const auto& row : rows(specs.out, "trust"))
        if (row.toObject()[s("proxy")].toString() == s("NMSE") &&
            row.toObject()[s("measured")].toString() == s("Mean KL"))
            found = row.toObject()[s("tau")].toDouble() == 1;
    QVERIFY(found);
}

void TestNetworkCommands::evidenceStandsBesideTheWeights() {
    const QStringList wanted = {s("--spec"), s("int3:block=32"), s("--tensor"), s("k_proj"), s("--how"),
                                s("alone"),  s("--how"),         s("slope"),    s("--json"), path("s.json")};
    QVERIFY(over("sensitivity", QStringList{s("--cache"), path("cache")} + wanted).code == 0);
    const QStringList with = {s("--tensor"), s("k_proj"), s("--evidence"), path("s.json")};
    const auto ran =
        run(QStringList{s("analyze"), kSample, s("--spec"), s("int3:block=32"), s("--json"), s("-")} + with);
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto first = rows(ran.out)[0].toObject();
    QVERIFY(first[s("kl_alone")].toDouble() > 0 && first[s("kl_alone_se")].toDouble() > 0);
    QVERIFY(first[s("kl_predicted")].toDouble() > 0 && first[s("kl_saved")].isNull());
    const auto shown = run(QStringList{s("analyze"), kSample, s("--spec"), s("int3:block=32")} + with);
    QVERIFY2(shown.out.contains("NMSE ranks 8 tensors as KL alone does with Kendall's tau"), shown.out.constData());
    const auto without = run({s("analyze"), kSample, s("--spec"), s("int3:block=32"), s("--tensor"), s("k_proj")});
    QVERIFY(without.out.contains("How far it ranks as the model's output does is not measured."));
    const auto sweep = run(
        QStringList{s("sweep"), kSample, s("--spec"), s("int3"), s("--block"), s("32"), s("--json"), s("-")} + with);
    QVERIFY2(sweep.code == 0, sweep.err.constData());
    QVERIFY(rows(sweep.out)[0].toObject()[s("kl_alone")].toDouble() > 0);
    const auto page =
        run(QStringList{s("analyze"), kSample, s("--spec"), s("int3:block=32"), s("--md"), s("-")} + with);
    QVERIFY(page.out.contains("Effect on the output") && page.out.contains("Trust in proxies"));
}

void TestNetworkCommands::importsHaveTheirFloor() {
    QFile csv(path("kld_results.csv"));
    QVERIFY(csv.open(QIODevice::WriteOnly));
    csv.write("QTYPE");
    for (int layer = 0; layer < 8; ++layer) csv.write("," + ("blk." + QByteArray::number(layer)) + ".attn_k.weight");
    csv.write("\nq4_K");
    for (int layer = 0; layer < 8; ++layer) csv.write(layer == 3 ? ",404" : "," + QByteArray::number(1 + layer));
    csv.write("\n");
    csv.close();
    const QStringList wanted = {s("--spec"), s("int3:block=32"), s("--tensor"),
                                s("k_proj"), s("--import"),      csv.fileName()};
    const auto ran = sensitivity(wanted + QStringList{s("--import-floor"), s("0.5")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto imported = rows(ran.out, "imported")[0].toObject();
    QCOMPARE(imported[s("tensors")].toInt(), 7);
    QCOMPARE(imported[s("not_measured")].toInt(), 1);
    QCOMPARE(imported[s("floor")].toDouble(), 0.5);
    QCOMPARE(imported[s("floor_is")].toString(), s("given"));
    QVERIFY(rows(ran.out, "trust")[1].toObject()[s("proxy")].toString().startsWith(s("Imported kl_mean, q4_K")));
    const auto few = rows(sensitivity(wanted).out, "imported")[0].toObject();
    QVERIFY(few[s("floor")].isNull()); // too few tensors to estimate one: not 0
    refuses(sensitivity(wanted + QStringList{s("--import-floor"), s("x")}), "--import-floor");
    refuses(sensitivity({s("--spec"), s("nf4"), s("--import-floor"), s("1")}), "--import");
}

void TestNetworkCommands::badEvidence() {
    QFile file(path("bad.json"));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("{\"rows\": []}") > 0);
    file.close();
    const auto with = [&](const QString& evidence) {
        return run({s("analyze"), kSample, s("--spec"), s("nf4"), s("--evidence"), evidence});
    };
    refuses(with(file.fileName()), "holds no figures");
    refuses(with(kText), "none of what can be imported");
    refuses(with(path("missing.json")), "missing.json");
}

void TestNetworkCommands::badSensitivities() {
    refuses(sensitivity({}), "--spec");
    refuses(sensitivity({s("--spec"), s("nf4:block=3")}), "block");
    refuses(over("sensitivity", {s("--spec"), s("nf4"), s("--tensor"), s("nothing")}), "nothing");
    QCOMPARE(run({s("sensitivity"), kSample, s("--spec"), s("nf4"), s("--text"), kText, s("--how"), s("guess")}).code,
             2); // as for every option with a fixed list of values
}

void TestNetworkCommands::capturedInputsServeSolvers() {
    QVERIFY(over("capture", {s("-o"), path("inputs.safetensors")}).code == 0);
    QVERIFY(over("capture", {s("--what"), s("gram"), s("-o"), path("gram.safetensors")}).code == 0);
    const auto with = [&](const char* file) {
        return run({s("analyze"), kSample, s("--spec"), s("int4:block=32"), s("--tensor"), s("layers.0.*down_proj"),
                    s("--activations"), path(file), s("--json"), s("-")});
    };
    const auto ran = with("inputs.safetensors");
    QVERIFY2(ran.code == 0, ran.err.constData());
    QVERIFY(rows(ran.out)[0].toObject()[s("output_nmse")].toDouble() > 0);
}

void TestNetworkCommands::capturedImportanceWeighsErrors() {
    for (const char* file : {"imatrix.gguf", "imatrix.dat"}) {
        const auto captured = over("capture", {s("-o"), path(file)});
        QVERIFY2(captured.code == 0, captured.err.constData());
        const auto ran = run({s("analyze"), kSample, s("--spec"), s("int4:block=32"), s("--tensor"),
                              s("layers.0.*down_proj"), s("--activations"), path(file), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY(rows(ran.out)[0].toObject()[s("weighted_nmse")].toDouble() > 0);
    }
}

void TestNetworkCommands::badCaptures() {
    refuses(over("capture", {s("-o"), path("inputs.txt")}), ".safetensors");
    refuses(over("capture", {s("--what"), s("gram"), s("--rows"), s("5"), s("-o"), path("g.safetensors")}), "--rows");
    QFile text(path("text.safetensors"));
    QVERIFY(text.open(QIODevice::WriteOnly) && text.write(QByteArray(500, 'a')) == 500);
    text.close();
    refuses(run({s("capture"), kSample, s("--text"), text.fileName(), s("--ctx"), s("64"), s("-o"), text.fileName()}),
            "text.safetensors");
    QVERIFY(text.open(QIODevice::ReadOnly));
    QCOMPARE(text.readAll(), QByteArray(500, 'a'));
}

void TestNetworkCommands::tokensComeBack() {
    const auto ran = run({s("tokenize"), kSample, s("--text"), kText, s("-o"), path("ids.npy"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    QVERIFY(rows(ran.out).size() > 1000);
    const QStringList more = {s("--spec"), s("int4:block=32"), s("--no-floor"), s("--json"), s("-")};
    const auto text = over("eval", more);
    const auto ids = run(
        QStringList{s("eval"), kSample, s("--tokens"), path("ids.npy"), s("--ctx"), s("64"), s("--chunks"), s("2")} +
        more);
    QVERIFY2(text.code == 0 && ids.code == 0, ids.err.constData());
    QCOMPARE(rows(ids.out)[0].toObject()[s("kl_mean")], rows(text.out)[0].toObject()[s("kl_mean")]);
}

void TestNetworkCommands::badTexts() {
    QFile text(path("bad.txt"));
    QVERIFY(text.open(QIODevice::WriteOnly) && text.write("abc\xff\xfe") == 5);
    text.close();
    refuses(run({s("tokenize"), kSample, s("--text"), text.fileName()}), "UTF-8");
    refuses(run({s("tokenize"), kSample, s("--text"), path("absent.txt")}), "absent.txt");
    QVERIFY(text.resize(qint64(20) << 30)); // sparse
    for (const char* option : {"--text", "--tokens"})
        refuses(run({s("eval"), kSample, s("--spec"), s("int8"), s(option), text.fileName()}), "is longer than");
    refuses(run({s("tokenize"), kSample, s("--text"), text.fileName()}), "is longer than the 256.00 MiB");
    QVERIFY(text.remove() && ::mkfifo(QFile::encodeName(text.fileName()).constData(), 0600) == 0);
    for (const char* option : {"--text", "--tokens", "--base"})
        refuses(run({s("eval"), kSample, s("--spec"), s("int8"), s(option), text.fileName()}), "is a pipe");
    refuses(over("eval", {s("--recipe"), text.fileName()}), "is a pipe");
    refuses(run({s("tokenize"), s("tests/data/eval/llama"), s("--text"), kText}), "tokenizer");
}

void TestNetworkCommands::hostileTokenizers_data() {
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QString>("why");
    const auto row = [](const char* name, const QByteArray& json, const char* why) {
        QTest::newRow(name) << json << s(why);
    };
    const QByteArray model = R"({"type":"BPE","vocab":{"a":0,"b":1,"c":2},"merges":[]})";
    const auto with = [&](const QByteArray& more) {
        return "{\"version\":\"1.0\"," + more + ",\"model\":" + model + "}";
    };
    const auto of = [](const QByteArray& own) { return "{\"version\":\"1.0\",\"model\":" + own + "}"; };
    row("nested arrays", QByteArray(200'000, '['), "is nested too deeply.");
    row("nested objects", QByteArray(R"({"a":)").repeated(100'000), "is nested too deeply.");
    row("nested steps",
        with("\"normalizer\":" + QByteArray(R"({"type":"Sequence","normalizers":[)").repeated(500) +
             "{\"type\":\"NFC\"}" + QByteArray("]}").repeated(500)),
        "is nested too deeply.");
    row("empty", "", "is not JSON.");
    row("cut short", with("\"normalizer\":null").chopped(3), "is not JSON.");
    row("not UTF-8", "{\"version\":\"\xff\xfe\"}", "is not UTF-8.");
    row("a list", "[]", "has no vocabulary.");
    row("no model", R"({"version":"1.0"})", "has no vocabulary.");
    row("a key twice", R"({"version":"1.0","version":"2.0"})", "has the key \"version\" twice.");
    row("unknown model", of(R"({"type":"Markov","vocab":{"a":0},"merges":[]})"), "known are BPE, ");
    row("negative id", of(R"({"type":"BPE","vocab":{"a":-1},"merges":[]})"), "has no id for the token \"a\".");
    row("an id too large", of(R"({"type":"BPE","vocab":{"a":0,"b":2147483647},"merges":[]})"),
        "has no id for the token \"b\".");
    row("an id twice", of(R"({"type":"BPE","vocab":{"a":0,"b":0},"merges":[]})"),
        "gives the id 0 to \"a\" and to \"b\".");
    row("merge of unknown tokens", of(R"({"type":"BPE","vocab":{"a":0},"merges":["x y"]})"),
        "has the merge 0 of tokens");
    row("merge of one", of(R"({"type":"BPE","vocab":{"a":0},"merges":["a"]})"), "has the merge 0 of tokens");
    row("no unknown token",
        of(R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","vocab":{"a":0}})"),
        "has no unknown token \"[UNK]\"");
    row("scores that are none", of(R"({"type":"Unigram","unk_id":0,"vocab":[["a","x"]]})"),
        "has no token with its score at place 0");
    row("unknown beyond the tokens", of(R"({"type":"Unigram","unk_id":7,"vocab":[["a",0.0]]})"),
        "has the unknown token 7");
    row("unknown normalizer", with(R"("normalizer":{"type":"Mangle"})"),
        "has the normalizer \"Mangle\", which is not known.");
    row("unknown pre-tokenizer", with(R"("pre_tokenizer":{"type":"Slice"})"), "has the pre-tokenizer \"Slice\"");
    row("no regular expression",
        with(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated","invert":false})"),
        "which is no regular expression.");
    row("exploding expression",
        with(
            R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a+)+$|(b|bb)+\\z"},"behavior":"Isolated","invert":false})"),
        "takes more than 10000000 steps on this text.");
    row("exploding replacement",
        with(R"("normalizer":{"type":"Replace","pattern":{"Regex":"(a|aa)+c"},"content":"x"})"),
        "takes more than 10000000 steps on this text.");
    QByteArray grow = R"({"type":"Replace","pattern":{"String":"a"},"content":")" + QByteArray(1000, 'a') + "\"},";
    row("growing text", with(R"("normalizer":{"type":"Sequence","normalizers":[)" + grow.repeated(8).chopped(1) + "]}"),
        "makes the text more than 64 times as long.");
    row("long added token",
        with(R"("added_tokens":[{"id":3,"content":")" + QByteArray(5000, 'x') + R"(","special":true}])"),
        "has an added token of 5000 bytes; at most 4096 can be");
    row("added token without text", with(R"("added_tokens":[{"id":3,"content":"","special":true}])"),
        "has an added token without text or id.");
    row("table of characters", with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"})"),
        "has a table of characters that is cut short.");
    row("special token without id",
        with(
            R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}}],"pair":[],"special_tokens":{}})"),
        "has no id for the special token \"<s>\".");
}

// Each is refused with one sentence and exit code 1, within seconds.
void TestNetworkCommands::hostileTokenizers() {
    QFETCH(QByteArray, json);
    QFETCH(QString, why);
    QTemporaryDir folder;
    for (const char* file : {"config.json", "model.safetensors"})
        QVERIFY(QFile::copy(s("tests/data/eval/llama/") + s(file), folder.filePath(s(file))));
    put(folder.filePath(s("tokenizer.json")), json);
    const QString text = put(folder.filePath(s("text.txt")), QByteArray(3000, 'a') + QByteArray(3000, 'b') + "c\n");
    refuses(run({s("tokenize"), folder.path(), s("--text"), text}), why.toUtf8().constData());
    refuses(run({s("eval"), folder.path(), s("--text"), text, s("--spec"), s("int8"), s("--ctx"), s("16"),
                 s("--no-floor")}),
            why.toUtf8().constData());
}

QS_TEST(TestNetworkCommands)
#include "network_commands_test.moc"
