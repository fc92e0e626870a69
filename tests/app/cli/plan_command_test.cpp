// SPDX-License-Identifier: GPL-3.0-or-later
// The command plan on the real program: a plan, its recipe in eval and quantize, its test against chance, bad input.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QFileInfo>
#include <QTemporaryDir>

#include <cmath>

using namespace clitest;

namespace {

const QString kTiny = QStringLiteral("resources/samples/tiny-llama");
const QString kHeldOut = kTiny + QStringLiteral("/heldout.txt");

} // namespace

class TestPlanCommand : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }
    Ran plan(const QStringList& more) {
        return run(QStringList{s("plan"), kTiny, s("--spec"), s("ternary:scale=channel"), s("--spec"),
                               s("nf4:block=32"), s("--spec"), s("int8"), s("--tensor"), s("proj")} +
                   more);
    }
    void refuses(const QStringList& more, const char* why) {
        const auto ran = plan(more);
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
    }

private Q_SLOTS:
    void aRecipeThatExportsAndEvaluates();
    void locksSkipsAndLimits();
    void againstChance();
    void aRecipeBesideThePlan();
    void aRecipeOfAnotherProgram();
    void badPlans();
    void badRecipes();
};

void TestPlanCommand::aRecipeThatExportsAndEvaluates() {
    const auto ran = plan({s("--budget"), s("14bpw"), s("--json"), s("-"), s("-o"), path("recipe.json")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto json = QJsonDocument::fromJson(ran.out).object();
    const auto provenance = json[s("provenance")].toObject();
    QCOMPARE(provenance[s("gap")].toString(), s("0"));
    const auto bytes = provenance[s("bytes")].toString().toLongLong();
    QVERIFY(bytes > 0 && bytes <= provenance[s("budget_bytes")].toString().toLongLong());
    double loss = 0;
    for (const auto& row : rows(ran.out)) loss += row.toObject()[s("loss")].toDouble();
    QVERIFY(std::fabs(loss - provenance[s("predicted_loss")].toString().toDouble()) < 1e-9);

    const auto exported = run({s("export"), kTiny, s("--recipe"), path("recipe.json"), s("--layout"),
                               provenance[s("layout")].toString(), s("-o"), path("x.safetensors")});
    QVERIFY2(exported.code == 0, exported.err.constData());
    // The file has the planned bytes, a header and metadata.
    const auto size = QFileInfo(path("x.safetensors")).size();
    QVERIFY2(size > bytes && size < bytes + 100'000, qPrintable(QString::number(size)));
    const auto evaluated = run({s("eval"), kTiny, s("--recipe"), path("recipe.json"), s("--text"), kHeldOut, s("--ctx"),
                                s("64"), s("--chunks"), s("2"), s("--no-floor"), s("--json"), s("-")});
    QVERIFY2(evaluated.code == 0, evaluated.err.constData());
    QVERIFY(rows(evaluated.out)[0].toObject()[s("kl_mean")].toDouble() > 0);
}

void TestPlanCommand::locksSkipsAndLimits() {
    const auto ran =
        plan({s("--budget"), s("15.5bpw"), s("--lock"), s("layers\\.0.*q_proj=int8"), s("--skip"), s("o_proj"),
              s("--at-least"), s("down_proj=int8"), s("--at-most"), s("up_proj=nf4:block=32"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    int locked = 0;
    for (const auto& value : rows(ran.out)) {
        const auto row = value.toObject();
        const QString unit = row[s("unit")].toString(), spec = row[s("spec")].toString();
        locked += row[s("locked")].isString();
        if (unit.contains(s("layers.0.self_attn.q_proj"))) QCOMPARE(spec, s("int8"));
        if (unit.contains(s("o_proj"))) QCOMPARE(spec, s("keep"));
        if (unit.contains(s("down_proj"))) QCOMPARE(spec, s("int8"));
        if (unit.contains(s("up_proj"))) QVERIFY(spec != s("int8"));
    }
    QVERIFY(locked > 1);
}

void TestPlanCommand::againstChance() {
    const auto ran =
        plan({s("--budget"), s("14bpw"), s("--by"), s("output"), s("--text"), kHeldOut, s("--ctx"), s("64"),
              s("--chunks"), s("2"), s("--null"), s("2"), s("--null-chunks"), s("2"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto contenders = rows(ran.out, "contenders");
    int permuted = 0, random = 0, uniform = 0;
    for (const auto& value : contenders) {
        const auto row = value.toObject();
        QVERIFY(row[s("kl_mean")].toDouble() > 0);
        permuted += row[s("kind")] == s("shuffled plan");
        random += row[s("kind")] == s("random plan");
        uniform += row[s("kind")] == s("uniform");
    }
    QCOMPARE(permuted, 2);
    QVERIFY(random <= 2 && uniform >= 1);
    const auto chance = rows(ran.out, "chance");
    QVERIFY(chance.size() >= 1);
    const auto shuffled = chance[0].toObject();
    QCOMPARE(shuffled[s("draws")].toInt(), 2);
    QVERIFY(shuffled[s("rank_p")].toDouble() >= 1.0 / 3);
    QVERIFY(shuffled[s("words")].toString().startsWith(s("Against 2 shuffles of its own specs")));
    const bool inside = shuffled[s("low")].toDouble() <= 0 && shuffled[s("high")].toDouble() >= 0;
    QCOMPARE(shuffled[s("words")].toString().contains(s("inside the random band")), inside);
}

/// The recipe that a plan wrote has that plan's size and loss, and a plan of its size among the same specs is no better.
void TestPlanCommand::aRecipeBesideThePlan() {
    const auto made = plan({s("--budget"), s("14bpw"), s("--json"), s("-"), s("-o"), path("own.json")});
    QVERIFY2(made.code == 0, made.err.constData());
    const auto first = QJsonDocument::fromJson(made.out).object()[s("provenance")].toObject();
    const auto ran = plan({s("--recipe"), path("own.json"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto again = QJsonDocument::fromJson(ran.out).object()[s("provenance")].toObject();
    QCOMPARE(again[s("budget_bytes")].toString(), first[s("bytes")].toString());
    QCOMPARE(again[s("bytes")].toString(), first[s("bytes")].toString());
    const auto beside = rows(ran.out, "recipes");
    QCOMPARE(beside.size(), 2);
    const auto own = beside[0].toObject(), other = beside[1].toObject();
    QCOMPARE(other[s("name")].toString(), s("own.json"));
    QCOMPARE(QString::number(other[s("bytes")].toInteger()), first[s("bytes")].toString());
    QVERIFY(std::fabs(other[s("bpw")].toDouble() - first[s("bpw")].toString().toDouble()) < 1e-9);
    QVERIFY(std::fabs(other[s("loss")].toDouble() / own[s("loss")].toDouble() - 1) < 1e-9);
    // It locks nothing.
    for (const auto& row : rows(ran.out)) QVERIFY(!row.toObject()[s("locked")].isString());
    const auto text = plan({s("--recipe"), path("own.json")});
    QVERIFY2(text.code == 0 && text.out.contains("own.json"), text.out.constData());
}

/// Specs of MaxText's words are to choose from, and the recipe is measured as uniform specs are.
void TestPlanCommand::aRecipeOfAnotherProgram() {
    QFile file(path("maxtext.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"__default__\":{\"w_bits\":null},\".*/(query|key)\":{\"w_bits\":8},\".*/wo\":{\"w_bits\":4}}");
    file.close();
    const auto ran =
        run({s("plan"), kTiny, s("--recipe"), path("maxtext.json"), s("--tensor"), s("proj"), s("--text"), kHeldOut,
             s("--ctx"), s("64"), s("--null"), s("1"), s("--null-chunks"), s("2"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    for (const auto& row : rows(ran.out)) {
        const QString spec = row.toObject()[s("spec")].toString();
        QVERIFY2(spec.startsWith(s("int8")) || spec.startsWith(s("int4")), qPrintable(spec));
    }
    const auto recipe = rows(ran.out, "recipes")[1].toObject();
    const auto contender = rows(ran.out, "contenders")[1].toObject();
    QCOMPARE(contender[s("kind")].toString(), s("recipe"));
    QCOMPARE(contender[s("name")].toString(), s("maxtext.json"));
    QCOMPARE(contender[s("bytes")].toInteger(), recipe[s("bytes")].toInteger());
    QVERIFY(contender[s("kl_mean")].toDouble() > 0 && recipe[s("loss")].toDouble() > 0);
    // As eval measures it, on the same chunks.
    const auto evaluated = run({s("eval"), kTiny, s("--recipe"), path("maxtext.json"), s("--text"), kHeldOut,
                                s("--ctx"), s("64"), s("--chunks"), s("2"), s("--no-floor"), s("--json"), s("-")});
    QVERIFY2(evaluated.code == 0, evaluated.err.constData());
    const double kl = rows(evaluated.out)[0].toObject()[s("kl_mean")].toDouble();
    QVERIFY2(std::fabs(contender[s("kl_mean")].toDouble() / kl - 1) < 1e-6, qPrintable(QString::number(kl)));
}

void TestPlanCommand::badRecipes() {
    const auto put = [&](const char* name, const char* text) {
        QFile file(path(name));
        if (file.open(QIODevice::WriteOnly)) file.write(text);
        return path(name);
    };
    const auto refused = [&](const QStringList& more, const char* why) {
        const auto ran = run(QStringList{s("plan"), kTiny} + more);
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
    };
    const QString one = put("one.json", "{\"version\":1,\"default\":\"keep\",\"rules\":[{\"tensor\":\"down_proj\","
                                        "\"spec\":\"int8\"}]}");
    refused({s("--recipe"), one}, "only int8");
    refused({s("--recipe"), put("bad.json", "no recipe")}, "is not a recipe");
    refused({s("--recipe"), put("none.json", "{\"version\":1,\"default\":\"keep\",\"rules\":[]}")},
            "quantizes no matrix");
    const QString ternary = put("ternary.json", "{\"version\":1,\"default\":\"keep\",\"rules\":[{\"tensor\":"
                                                "\"down_proj\",\"spec\":\"ternary:scale=channel\"}]}");
    refused({s("--recipe"), ternary, s("--spec"), s("int4:dialect=ct:block=32"), s("--layout"), s("compressed-tensors"),
             s("--tensor"), s("proj")},
            "does not take ternary");
    const auto neither = run({s("plan"), kTiny, s("--spec"), s("int8"), s("--spec"), s("int4")});
    QVERIFY(neither.code != 0 && neither.err.contains("--budget or --recipe"));
    // An input is never overwritten.
    const auto over = run({s("plan"), kTiny, s("--recipe"), one, s("--spec"), s("int4"), s("-o"), one});
    QVERIFY(over.code != 0 && isSentence(over.err));
}

void TestPlanCommand::badPlans() {
    refuses({s("--budget"), s("much")}, "is no budget");
    refuses({s("--budget"), s("0.01bpw")}, "too small");
    refuses({s("--budget"), s("14bpw"), s("--by"), s("alone")}, "--text");
    refuses({s("--budget"), s("14bpw"), s("--lock"), s("int8")}, "--lock");
    refuses({s("--budget"), s("14bpw"), s("--at-least"), s("down_proj=keep")}, "--at-least");
    refuses({s("--budget"), s("14bpw"), s("--at-most"), s("(=int8")}, "not a regular expression");
    refuses({s("--budget"), s("14bpw"), s("--skip"), s("(")}, "not a regular expression");
    refuses({s("--budget"), s("14bpw"), s("--layout"), s("nothing")}, "layout");
    refuses({s("--budget"), s("14bpw"), s("--text"), kHeldOut, s("--ctx"), s("1000000")}, "none is left");
    const auto one = run({s("plan"), kTiny, s("--spec"), s("int8"), s("--budget"), s("14bpw")});
    QCOMPARE(one.code, 1);
    QVERIFY(isSentence(one.err) && one.err.contains("twice"));
    const auto input = plan({s("--budget"), s("14bpw"), s("-o"), kTiny + s("/config.json")});
    QCOMPARE(input.code, 1);
    QVERIFY(isSentence(input.err));
}

QS_TEST(TestPlanCommand)
#include "plan_command_test.moc"
