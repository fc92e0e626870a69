// SPDX-License-Identifier: GPL-3.0-or-later
// The JSON of every command: numbers are numbers, a tensor's name is `tensor`, what belongs to the whole run is the
// object `summary`.
#include "app/cli/command.h"
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QRegularExpression>
#include <QSet>
#include <QTemporaryDir>

using namespace clitest;

namespace {

/// Keys whose texts are what a file, a user or a program says, whatever that looks like.
const QSet<QString> kSpoken = {s("text"), s("says"), s("found"), s("version"), s("formats_version"), s("keep"),
                               s("arguments"), s("keys")};
/// Keys under which some commands once gave names of tensors.
const QSet<QString> kOldNames = {s("unit"), s("name"), s("weight"), s("matrix"), s("layer")};

} // namespace

class TestJsonContract : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) const { return dir_.filePath(s(name)); }
    QSet<QString> tensors_; ///< of the sample

    /// What is wrong with a value; "": nothing.
    QString fault(const QJsonValue& value, const QString& key) const {
        static const QRegularExpression number(s("^-?(\\d+(\\.\\d+)?([eE][-+]?\\d+)?|inf|nan|true|false)$"));
        if (value.isString() && number.match(value.toString()).hasMatch() && !kSpoken.contains(key))
            return key + s(" is the text ") + value.toString();
        if (value.isString() && kOldNames.contains(key) && tensors_.contains(value.toString()))
            return s("a tensor is named by ") + key;
        if (value.isArray())
            for (const auto& one : value.toArray())
                if (const QString found = fault(one, key); !found.isEmpty()) return found;
        if (value.isObject()) {
            const auto object = value.toObject();
            const bool isNamed = object.contains(s("tensor")); // then other names are those of other programs
            for (auto it = object.begin(); it != object.end(); ++it)
                if (isNamed && kOldNames.contains(it.key()))
                    continue;
                else if (const QString found = fault(it.value(), it.key()); !found.isEmpty()) return found;
        }
        return {};
    }

private Q_SLOTS:
    void initTestCase();
    void ofEveryCommand_data();
    void ofEveryCommand();
};

void TestJsonContract::initTestCase() {
    const auto ran = run({s("inspect"), kSample, s("--json"), s("-")});
    QCOMPARE(ran.code, 0);
    for (const auto& one : QJsonDocument::fromJson(ran.out).object()[s("tensors")].toArray())
        tensors_ << one.toObject()[s("name")].toString();
    QVERIFY(!tensors_.isEmpty());
    const QStringList made{s("quantize"), kSample, s("--spec"), s("int8"), s("-o"), path("made.safetensors")};
    QCOMPARE(run(made).code, 0);
    QFile recipe(path("recipe.json"));
    QVERIFY(recipe.open(QIODevice::WriteOnly) &&
            recipe.write("{\"version\":1,\"default\":\"keep\",\"rules\":[{\"tensor\":\"q_proj\",\"spec\":\"int8\"}]}") > 0);
}

void TestJsonContract::ofEveryCommand_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<bool>("hasSummary");
    const QStringList text{s("--text"), kText, s("--ctx"), s("32"), s("--chunks"), s("2")};
    const QStringList one{s("--tensor"), s("layers\\.0\\.self_attn\\.q_proj")};
    const auto row = [](const char* name, const QStringList& arguments, bool hasSummary = false) {
        QTest::newRow(name) << arguments << hasSummary;
    };
    row("inspect", {kSample, s("--stats")});
    row("quantize", QStringList{kSample, s("--spec"), s("int8"), s("-o"), path("q.safetensors")});
    row("export", {kSample, s("--recipe"), path("recipe.json"), s("--layout"), s("native"), s("-o"), path("e.safetensors")});
    row("analyze", QStringList{kSample, s("--spec"), s("nf4")} + one);
    row("sweep", QStringList{kSample, s("--spec"), s("nf4"), s("--spec"), s("int8")} + one);
    row("eval", QStringList{kSample, s("--spec"), s("nf4")} + text);
    row("sensitivity", QStringList{kSample, s("--spec"), s("nf4")} + text + one);
    row("plan",
        QStringList{kSample, s("--spec"), s("nf4"), s("--spec"), s("int8"), s("--budget"), s("14bpw"), s("--null"),
                    s("1"), s("--null-chunks"), s("2")} + text + QStringList{s("--tensor"), s("proj")},
        true);
    row("recipe resolve", {path("recipe.json"), s("--model"), kSample});
    row("recipe formats", {});
    row("tokenize", {kSample, s("--text"), kText});
    row("audit", {kSample});
    row("diff", {kSample, path("made.safetensors")});
    row("verify", {kSample, path("made.safetensors")}, true);
    row("whatif", QStringList{kSample, s("--spec"), s("nf4:block=64")} + one);
    row("train", QStringList{kSample, s("--spec"), s("int4:block=32"), s("--steps"), s("3")} + one);
    row("products", QStringList{kSample, s("--rows"), s("16")} + one);
    row("kvcache", {s("--spec"), s("int8"), s("--tokens"), s("64")});
    row("backends", {});
    row("bench", {s("--backend"), s("cpu"), s("--spec"), s("int8"), s("--shape"), s("1x64x64"), s("--seconds"), s("0.01")});
    for (const char* list : {"formats", "metrics", "layouts", "calibrations", "solvers", "conventions"}) row(list, {});
}

void TestJsonContract::ofEveryCommand() {
    QFETCH(QStringList, arguments);
    QFETCH(bool, hasSummary);
    const QStringList command = QString::fromLatin1(QTest::currentDataTag()).split(u' ');
    const auto ran = run(command + arguments + QStringList{s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    QJsonParseError wrong;
    const auto document = QJsonDocument::fromJson(ran.out, &wrong);
    QVERIFY2(document.isObject(), qPrintable(wrong.errorString() + QString::fromUtf8(ran.out.left(300))));
    const auto object = document.object();
    QVERIFY(object[command.front() == s("inspect") ? s("tensors") : s("rows")].isArray());
    QCOMPARE(object[s("summary")].isObject(), hasSummary);
    for (auto it = object.begin(); it != object.end(); ++it) {
        if (command.front() == s("inspect") && it.key() == s("metadata")) continue; // texts of the file
        if (command.front() == s("inspect") && it.key() == s("tensors")) continue;  // `name`, as in the file
        if (it.key() == s("certificate")) continue;                                 // a document of its own
        const QString found = fault(it.value(), it.key());
        QVERIFY2(found.isEmpty(), qPrintable(it.key() + s(": ") + found));
    }
    // No command is left out.
    static const QSet<QString> kWithout = {s("dequantize"), s("capture"), s("merge")};
    QSet<QString> tested;
    for (const char* name : {"inspect", "quantize", "export", "analyze", "sweep", "eval", "sensitivity", "plan", "recipe",
                             "tokenize", "audit", "diff", "verify", "whatif", "train", "products", "kvcache", "backends",
                             "bench", "formats", "metrics", "layouts", "calibrations", "solvers", "conventions"})
        tested << s(name);
    for (const auto& each : qs::cli::commands())
        QVERIFY2(tested.contains(s(each.name)) || kWithout.contains(s(each.name)), each.name);
}

QS_TEST(TestJsonContract)
#include "json_contract_test.moc"
