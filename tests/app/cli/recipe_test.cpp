// SPDX-License-Identifier: GPL-3.0-or-later
// The commands recipe and verify on the real program: the way from a recipe of another program to a proved export.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

using namespace clitest;

namespace {

const QString kModel = QStringLiteral("resources/samples/tiny-llama");
const QByteArray kRules =
    R"({"__default__":{"w_bits":8},".*/query":{"w_bits":4,"tile_size":32},".*/wo":{"w_bits":null},".*/nobody":{"w_bits":2}})";

} // namespace

class TestRecipeCommand : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }

private Q_SLOTS:
    void resolves();
    void convertsAndExports();
    void verifies();
    void badUse();
};

void TestRecipeCommand::resolves() {
    const QString file = put(path("rules.json"), kRules);
    const auto ran = run({s("recipe"), s("resolve"), file, s("--model"), kModel, s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto json = QJsonDocument::fromJson(ran.out).object();
    QCOMPARE(json[s("format")].toString(), s("maxtext"));
    int queries = 0;
    for (const auto& value : json[s("rows")].toArray()) {
        const auto row = value.toObject();
        if (!row[s("tensor")].toString().contains(s("q_proj"))) continue;
        ++queries;
        QCOMPARE(row[s("matched_by")].toString(), s(".*/query"));
        const QString spec = row[s("spec")].toString();
        QVERIFY2(spec.startsWith(s("int4:")) && spec.contains(s("block=32")) && spec.contains(s("aqt")),
                 qPrintable(spec));
    }
    QCOMPARE(queries, 8);
    QVERIFY(json[s("remarks")].toArray().contains(s("The rule '.*/nobody' matches no matrix.")));
    const auto alone = run({s("recipe"), s("resolve"), file});
    QVERIFY2(alone.code == 0 && alone.out.contains("the last rule that matches wins"), alone.out.constData());
    const auto formats = run({s("recipe"), s("formats"), s("--json"), s("-")});
    QCOMPARE(rows(formats.out).size(), 10);
}

void TestRecipeCommand::convertsAndExports() {
    const QString file = put(path("rules.json"), kRules);
    const auto converted =
        run({s("recipe"), s("convert"), file, s("--to"), s("qwix"), s("--model"), kModel, s("-o"), path("rules.yaml")});
    QVERIFY2(converted.code == 0, converted.err.constData());
    QVERIFY(bytesOf(path("rules.yaml")).startsWith("qwix:\n  rules:\n"));
    const auto exported = run({s("export"), kModel, s("--recipe"), path("rules.yaml"), s("--layout"), s("native"),
                               s("-o"), path("x.safetensors")});
    QVERIFY2(exported.code == 0, exported.err.constData());
    QVERIFY2(exported.out.contains("every value is what was analysed"), exported.out.constData());
    const auto quantized = run({s("quantize"), kModel, s("--recipe"), path("rules.yaml"), s("--layout"), s("native"),
                                s("-o"), path("y.safetensors")});
    QVERIFY2(quantized.code == 0, quantized.err.constData());
    QCOMPARE(bytesOf(path("y.safetensors")), bytesOf(path("x.safetensors")));
    const auto measured = run({s("eval"), kModel, s("--recipe"), file, s("--text"), kModel + s("/heldout.txt"),
                               s("--ctx"), s("64"), s("--chunks"), s("2"), s("--no-floor"), s("--json"), s("-")});
    QVERIFY2(measured.code == 0, measured.err.constData());
    const auto refused =
        run({s("recipe"), s("convert"), file, s("--to"), s("bnb"), s("--model"), kModel, s("-o"), path("no.json")});
    QCOMPARE(refused.code, 1);
    QVERIFY2(isSentence(refused.err) && refused.err.contains("one spec for a model"), refused.err.constData());
    QVERIFY(!QFile::exists(path("no.json")));
}

void TestRecipeCommand::verifies() {
    const auto made = run({s("quantize"), kModel, s("--spec"), s("int4:dialect=ct:block=32"), s("--tensor"),
                           s("layers\\..*_proj"), s("--layout"), s("compressed-tensors"), s("-o"), path("ct")});
    QVERIFY2(made.code == 0, made.err.constData());
    const auto ran = run({s("verify"), kModel, path("ct"), s("--fail-on"), s("differs"), s("--fail-on"), s("missing"),
                          s("--fail-on"), s("claims"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    for (const auto& value : rows(ran.out)) {
        const auto row = value.toObject();
        for (const char* key : {"tensor", "spec", "derives", "nmse", "status"}) QVERIFY(row.contains(s(key)));
        QCOMPARE(row[s("derives")].toString(), s("exact"));
    }
    QVERIFY(rows(ran.out, "claims").size() > 0);
    const auto limit = run({s("verify"), kModel, path("ct"), s("--fail-on"), s("bpw>4.2")});
    QCOMPARE(limit.code, 1);
    QVERIFY2(isSentence(limit.err) && limit.err.contains("bits per weight"), limit.err.constData());
    const auto alone = run({s("verify"), path("ct")}); // by its certificate
    QVERIFY2(alone.code == 0 && alone.out.contains("as certified"), alone.err.constData());
    const auto audited = run({s("audit"), path("ct"), s("--fail-on"), s("note>1000")});
    QVERIFY2(audited.code == 0, audited.err.constData());
}

void TestRecipeCommand::badUse() {
    QCOMPARE(run({s("recipe")}).code, 2);
    QCOMPARE(run({s("recipe"), s("convert"), s("x")}).code, 2);
    QCOMPARE(run({s("quantize"), kModel, s("-o"), path("z.safetensors")}).code, 2); // neither --spec nor --recipe
    QCOMPARE(run({s("verify"), kModel, kModel, s("--fail-on"), s("nothing")}).code, 2);
    QCOMPARE(run({s("verify"), kModel, kModel, kModel}).code, 2);
    const QString file = put(path("rules.json"), kRules);
    for (const QStringList& one :
         {QStringList{s("recipe"), s("resolve"), path("none")},
          QStringList{s("recipe"), s("resolve"), kModel + s("/heldout.txt")},
          QStringList{s("recipe"), s("convert"), file, s("--to"), s("qwix"), s("-o"), path("q")},
          QStringList{s("recipe"), s("convert"), file, s("--to"), s("qwix"), s("-o"), file},
          QStringList{s("verify"), path("x"), s("--fail-on"), s("differs")},
          QStringList{s("quantize"), kModel, s("--spec"), s("nf4"), s("--recipe"), file, s("-o"),
                      path("z.safetensors")}}) {
        const auto ran = run(one);
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err), ran.err.constData());
    }
    QCOMPARE(bytesOf(file), kRules);
}

QS_TEST(TestRecipeCommand)
#include "recipe_test.moc"
