// SPDX-License-Identifier: GPL-3.0-or-later
// Commands over a text whose units are shared by several processes, and merge, on the real program.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

using namespace clitest;

namespace {} // namespace

class TestShared : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const QString& name) { return dir_.filePath(name); }

    /// A command over some chunks of 64 tokens of the sample's text.
    static QStringList over(const char* command, const char* chunks, const QStringList& more) {
        return QStringList{s(command), kSample, s("--text"), kText, s("--ctx"), s("64"), s("--chunks"), s(chunks)} +
               more;
    }
    static QStringList evaluation(const QStringList& more = {}) {
        return over("eval", "4", QStringList{s("--spec"), s("int4:block=32"), s("--spec"), s("int8")} + more);
    }
    Ran shard(const QStringList& command, const char* which, const QString& folder) {
        return run(command + QStringList{s("--records"), path(folder), s("--shard"), s(which)});
    }
    Ran merged(const QString& folder, const QStringList& more = {}) {
        return run(QStringList{s("merge"), path(folder), s("--json"), s("-")} + more);
    }
    static QJsonObject withoutProvenance(const QByteArray& json) {
        auto object = QJsonDocument::fromJson(json).object();
        object.remove(s("provenance"));
        return object;
    }
    void areEqual(const Ran& ran, const Ran& expected) {
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY2(expected.code == 0, expected.err.constData());
        QVERIFY(!withoutProvenance(expected.out)[s("rows")].toArray().isEmpty());
        QCOMPARE(withoutProvenance(ran.out), withoutProvenance(expected.out));
    }
    void refuses(const Ran& ran, const char* why) {
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
    }

private Q_SLOTS:
    void shardsOfEvalEqualOneRun();
    void aStoppedEvalGoesOn();
    void shardsOfSensitivityEqualOneRun();
    void shardsOfPlanEqualOneRun();
    void shardsOfCaptureWriteOneFile();
    void badRequests();
};

void TestShared::shardsOfEvalEqualOneRun() {
    const auto command = evaluation();
    const auto expected = run(command + QStringList{s("--json"), s("-")});
    // Memory changes no figure, so it makes no other command.
    const auto second = shard(command + QStringList{s("--memory"), s("1GiB")}, "2/2", s("eval"));
    QVERIFY2(second.code == 0, second.err.constData());
    QCOMPARE(second.out, QByteArray("Shard 2 of 2: 3 units computed, 0 were there, 3 are of other shards.\n"));
    refuses(merged(s("eval")), "3 of 6 units are missing: chunk 1 under int4:block=32 and 1 more; chunk 2 under");
    QCOMPARE(shard(command, "1/2", s("eval")).code, 0);
    areEqual(merged(s("eval")), expected);
}

void TestShared::aStoppedEvalGoesOn() {
    // Four specs: figures of the weights are held against what is measured, and are units too.
    const auto command = evaluation({s("--no-floor"), s("--spec"), s("int3:block=32"), s("--spec"), s("nf4:block=32")});
    QCOMPARE(shard(command, "1/4", s("stopped")).code, 0); // what a stopped run leaves
    const auto rest = run(command + QStringList{s("--records"), path(s("stopped")), s("--json"), s("-")});
    areEqual(rest, run(command + QStringList{s("--json"), s("-")}));
}

void TestShared::shardsOfSensitivityEqualOneRun() {
    const auto command = over("sensitivity", "2",
                              {s("--spec"), s("int4:block=32"), s("--by"), s("role"), s("--how"), s("alone"),
                               s("--how"), s("output"), s("--cache"), s("none")});
    const auto expected = run(command + QStringList{s("--json"), s("-")});
    QCOMPARE(shard(command, "1/2", s("sensitivity")).code, 0);
    refuses(merged(s("sensitivity")), "units are missing");
    QCOMPARE(shard(command, "2/2", s("sensitivity")).code, 0);
    areEqual(merged(s("sensitivity")), expected);
}

void TestShared::shardsOfPlanEqualOneRun() {
    const auto command =
        over("plan", "2",
             {s("--spec"), s("int2:block=32"), s("--spec"), s("int4:block=32"), s("--budget"), s("7bpw"), s("--null"),
              s("2"), s("--null-chunks"), s("2"), s("--tensor"), s("mlp"), s("-o")});
    const auto expected = run(command + QStringList{path(s("one.json")), s("--json"), s("-")});
    const auto own = command + QStringList{path(s("merged.json"))};
    const auto first = shard(own, "1/2", s("plan"));
    QVERIFY2(first.code == 0 && first.out.contains("start them again"), first.out + first.err);
    QCOMPARE(shard(own, "2/2", s("plan")).code, 0); // it has all losses, and tests the plan
    const QStringList output = {s("-o"), path(s("merged.json"))};
    refuses(merged(s("plan"), output), "chunk 1 under plan");
    QVERIFY(!QFile::exists(path(s("merged.json")))); // only a whole result is written
    QCOMPARE(shard(own, "1/2", s("plan")).code, 0);
    areEqual(merged(s("plan")), expected); // the records do not say where the recipe goes
    QVERIFY(!QFile::exists(path(s("merged.json"))));
    areEqual(merged(s("plan"), output), expected);
    QFile one(path(s("one.json"))), other(path(s("merged.json")));
    QVERIFY(one.open(QIODevice::ReadOnly) && other.open(QIODevice::ReadOnly));
    QCOMPARE(other.readAll(), one.readAll());
}

void TestShared::shardsOfCaptureWriteOneFile() {
    const auto command = over("capture", "3", {s("-o")});
    QCOMPARE(run(command + QStringList{path(s("one.gguf"))}).code, 0);
    const auto own = command + QStringList{path(s("merged.gguf"))};
    for (const char* which : {"2/2", "1/2"}) {
        QVERIFY(!QFile::exists(path(s("merged.gguf"))));
        const auto ran = shard(own, which, s("capture"));
        QVERIFY2(ran.code == 0 && ran.out.startsWith("Shard "), ran.err.constData());
    }
    refuses(run({s("merge"), path(s("capture"))}), "--output");
    const auto ran = run({s("merge"), path(s("capture")), s("-o"), path(s("merged.gguf"))});
    QVERIFY2(ran.code == 0 && ran.out.startsWith("Wrote "), ran.err.constData());
    QFile one(path(s("one.gguf"))), other(path(s("merged.gguf")));
    QVERIFY(one.open(QIODevice::ReadOnly) && other.open(QIODevice::ReadOnly));
    QCOMPARE(other.readAll(), one.readAll());
}

void TestShared::badRequests() {
    for (const char* option : {"--llama-cpp", "--save-base"}) {
        auto command = evaluation({s("--records"), path(s("bad")), s(option)});
        if (s(option) == s("--save-base")) command << path(s("base.bin"));
        refuses(run(command), "records do not hold");
    }
    refuses(run(evaluation({s("--shard"), s("1/2")})), "--shard needs --records");
    refuses(shard(evaluation({s("--json"), path(s("rows.json"))}), "1/2", s("bad")), "A shard writes records");
}

QS_TEST(TestShared)
#include "shared_network_test.moc"
