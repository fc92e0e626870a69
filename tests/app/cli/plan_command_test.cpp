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
    void againstChance();
    void badPlans();
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

void TestPlanCommand::badPlans() {
    refuses({s("--budget"), s("much")}, "is no budget");
    refuses({s("--budget"), s("0.01bpw")}, "too small");
    refuses({s("--budget"), s("14bpw"), s("--by"), s("alone")}, "--text");
    refuses({s("--budget"), s("14bpw"), s("--lock"), s("int8")}, "--lock");
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
