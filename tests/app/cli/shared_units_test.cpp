// SPDX-License-Identifier: GPL-3.0-or-later
// Commands whose units several processes share: --records, --shard and merge, on the real program.
#include "cli_run.h"
#include "tests/support/changed_records.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <csignal>

using namespace clitest;

class SharedUnitsTest : public QObject {
    Q_OBJECT
    const QString sample_ = s(QS_SOURCE_DIR "/resources/samples/tiny-llama");

    /// The rows of a command's JSON.
    static QJsonArray rowsOf(const QStringList& command) {
        const auto ran = run(command + QStringList{s("--json"), s("-")});
        return ran.code == 0 ? rows(ran.out) : QJsonArray();
    }

private Q_SLOTS:
    void mergedRowsAreThoseOfOneProcess_data() {
        QTest::addColumn<QStringList>("command");
        QTest::newRow("analyze") << QStringList{s("analyze"), sample_,   s("--spec"),   s("nf4:block=32"),
                                                s("--spec"),  s("int8"), s("--tensor"), s("layers.[01]")};
        QTest::newRow("analyze with inputs")
            << QStringList{s("analyze"),       sample_,        s("--spec"),   s("int8"),
                           s("--activations"), s("synthetic"), s("--tensor"), s("layers.0")};
        QTest::newRow("sweep") << QStringList{s("sweep"), sample_, s("--spec"), s("nf4"), s("--tensor"), s("layers.0")};
        QTest::newRow("audit") << QStringList{s("audit"), sample_};
    }
    void mergedRowsAreThoseOfOneProcess() {
        QFETCH(QStringList, command);
        const QTemporaryDir dir;
        const QString records = dir.filePath(s("records"));
        const auto shard = [&](const char* part) {
            return run(command + QStringList{s("--records"), records, s("--shard"), s(part)});
        };
        const auto second = shard("2/3");
        QVERIFY2(second.code == 0 && second.out.startsWith("Shard 2 of 3: ") && second.out.count('\n') == 1,
                 second.err.constData());
        const auto tooEarly = run({s("merge"), records});
        QVERIFY2(tooEarly.code == 1 && isSentence(tooEarly.err) && tooEarly.err.contains("units are missing"),
                 tooEarly.err.constData());
        QVERIFY(tooEarly.out.isEmpty());
        QCOMPARE(shard("3/3").code, 0);
        QCOMPARE(shard("1/3").code, 0);
        const QString json = dir.filePath(s("merged.json"));
        const auto merged = run({s("merge"), records, s("--json"), json});
        QVERIFY2(merged.code == 0, merged.err.constData());
        const auto expected = run(command);
        const auto upToSeconds = [](const QByteArray& text) {
            return text.left(text.lastIndexOf(" in "));
        }; // of an audit
        QVERIFY(!expected.out.isEmpty() && merged.out.startsWith(upToSeconds(expected.out)));
        const auto rows = rowsOf(command);
        QCOMPARE(clitest::rows(bytesOf(json)), rows);
        // A second start has nothing left to do, and shows the result.
        QCOMPARE(rowsOf(command + QStringList{s("--records"), records}), rows);
        QVERIFY(shard("1/3").out.contains(" 0 units computed"));
    }
    void anExportIsWrittenByParts() {
        // Two files of weights, a recipe, and a folder that one process writes for comparison.
        const QTemporaryDir dir;
        QDir(dir.path()).mkdir(s("model"));
        const auto file = [&](const char* name) { return dir.filePath(s(name)); };
        put(file("model/model-00001-of-00002.safetensors"), safetensors({{"a", "F32", "[64,64]", ramp(64 * 64)}}));
        put(file("model/model-00002-of-00002.safetensors"), safetensors({{"b", "F32", "[32,64]", ramp(32 * 64)}}));
        put(file("model/model.safetensors.index.json"),
            "{\"metadata\":{\"total_size\":24576},\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\","
            "\"b\":\"model-00002-of-00002.safetensors\"}}");
        put(file("model/config.json"), "{}");
        const auto recipe = put(file("r.json"), "{\"version\":1,\"rules\":[{\"tensor\":\".\",\"spec\":\"int8\"}]}");
        const auto exported = [&](const char* out, QStringList more) {
            return run(QStringList{s("export"), file("model"), s("--recipe"), recipe, s("--layout"), s("native"),
                                   s("-o"), file(out)} +
                       more);
        };
        const auto alone = exported("alone", {});
        QVERIFY2(alone.code == 0, alone.err.constData());
        const auto first = exported("shared", {s("--records"), file("r"), s("--shard"), s("1/2")});
        QVERIFY2(first.code == 0 && first.out.startsWith("Shard 1 of 2: 1 units computed"), first.err.constData());
        QVERIFY(!QFileInfo::exists(file("shared")));
        const QStringList merge = {s("merge"), file("r"), s("-o"), file("shared")};
        const auto tooEarly = run(merge);
        QVERIFY2(tooEarly.code == 1 && tooEarly.err.contains("model-00002-of-00002.safetensors"),
                 tooEarly.err.constData());
        QVERIFY(!QFileInfo::exists(file("shared")));
        QCOMPARE(exported("shared", {s("--records"), file("r"), s("--shard"), s("2/2")}).code, 0);
        QVERIFY(!QFileInfo::exists(file("shared")));
        const auto nowhere = run({s("merge"), file("r")}); // the records do not say where
        QVERIFY2(nowhere.code == 1 && isSentence(nowhere.err) && nowhere.err.contains("--output"),
                 nowhere.err.constData());
        const auto merged = run(merge);
        QVERIFY2(merged.code == 0, merged.err.constData());
        const auto names = QDir(file("alone")).entryList(QDir::Files | QDir::Hidden);
        QCOMPARE(QDir(file("shared")).entryList(QDir::Files | QDir::Hidden), names);
        for (const QString& name : names)
            QVERIFY2(bytesOf(file("alone") + s("/") + name) == bytesOf(file("shared") + s("/") + name),
                     qPrintable(name));
        // A changed file of the records is found before anything is written.
        QDir(file("shared")).removeRecursively();
        for (const QString& name : QDir(file("r")).entryList({s("*.safetensors")})) {
            const QString path = file("r") + s("/") + name;
            QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner);
            put(path, bytesOf(path).replace(200, 1, "?"));
        }
        const auto changed = run(merge);
        QVERIFY2(changed.code == 1 && isSentence(changed.err), changed.err.constData());
        QVERIFY(!QFileInfo::exists(file("shared")));
        // A record that names a file outside of its folder names none of its own.
        for (const QString& name : QDir(file("r")).entryList({s("*.safetensors")})) {
            const QString stolen = s("../") + name.mid(3);
            put(file("r/") + stolen, bytesOf(file("r/") + name));
            for (const QString& one : QDir(file("r")).entryList({s("*.records")})) {
                auto records = qs::test::RecordsFile::read(file("r/") + one);
                for (auto& record : records.records) record.bytes.replace(name.toUtf8(), stolen.toUtf8());
                records.write(file("r/") + one);
            }
        }
        const auto outside = run({s("merge"), file("r"), s("-o"), file("outside")});
        QVERIFY2(outside.code == 1 && outside.err.contains("2 of 2 units are missing"), outside.err.constData());
        QVERIFY(!QFileInfo::exists(file("outside")));
        // One file cannot be shared.
        const auto single = run({s("export"), file("model"), s("--recipe"), recipe, s("--layout"), s("native"), s("-o"),
                                 file("x.safetensors"), s("--records"), file("r2"), s("--shard"), s("1/2")});
        QVERIFY2(single.code == 1 && isSentence(single.err) && single.err.contains("folder"), single.err.constData());
    }
    void whatAKilledProcessHasFinishedStays() {
        const QTemporaryDir dir;
        const QStringList command = {s("sweep"),    sample_,        s("--tensor"),
                                     s("layers.0"), s("--records"), dir.filePath(s("r"))};
        QProcess process;
        process.start(binary(), command);
        QVERIFY(process.waitForStarted());
        const auto files = [&] { return QDir(dir.filePath(s("r"))).entryList({s("*.records")}).size(); };
        QTRY_VERIFY_WITH_TIMEOUT(files() > 0 || process.state() == QProcess::NotRunning, 60'000);
        process.kill();
        QVERIFY(process.state() == QProcess::NotRunning || process.waitForFinished());
        const auto before = files();
        QVERIFY(before > 0);
        const auto again = run(command + QStringList{s("--shard"), s("1/1")});
        QVERIFY2(again.code == 0 && !again.out.contains(" 0 were there"), again.out.constData());
    }
    void whatDoesNotGoTogetherIsSaid() {
        const QTemporaryDir dir;
        const QString records = dir.filePath(s("r"));
        const auto refused = [&](const QStringList& arguments, const char* word, int code = 1) {
            const auto ran = run(arguments);
            QVERIFY2(ran.code == code && isSentence(ran.err) && ran.err.contains(word), ran.err.constData());
        };
        const QStringList audit = {s("audit"), sample_};
        refused(audit + QStringList{s("--shard"), s("1/2")}, "--records DIR");
        refused(audit + QStringList{s("--shard"), s("3/2"), s("--records"), records}, "2/4", 2);
        refused(audit + QStringList{s("--shard"), s("1/2"), s("--records"), records, s("--json"), s("-")}, "merge");
        refused({s("merge"), dir.path()}, "no files of records");
        refused({s("merge"), sample_ + s("/config.json")}, "no file of records");
        QCOMPARE(run(audit + QStringList{s("--shard"), s("1/2"), s("--records"), records}).code, 0);
        QCOMPARE(
            run({s("analyze"), sample_, s("--spec"), s("int8"), s("--shard"), s("1/9"), s("--records"), records}).code,
            0);
        refused({s("merge"), records}, "2 commands");
        const QString put = clitest::put(dir.filePath(s("file")), "x");
        refused(audit + QStringList{s("--records"), put}, "no folder");
    }
    void forgedRecordsWriteAndRunNothing_data() {
        QTest::addColumn<QByteArray>("command"); // the words behind the file
        QTest::addColumn<QByteArray>("why");
        const auto row = [](const char* name, const QByteArray& words, const char* why) {
            QTest::newRow(name) << words << QByteArray(why);
        };
        const QByteArray model = "\"" + sample_.toUtf8() + "\"";
        row("shares nothing", "\"formats\"", "shares no units");
        row("nothing, as the window writes", "", "of the window");
        row("a report", "\"audit\"," + model + ",\"--json=VICTIM\"", "ask for --json=");
        row("a report in two words", "\"audit\"," + model + ",\"--csv\",\"VICTIM\"", "ask for --csv=");
        row("a capture", "\"capture\"," + model + ",\"--text\"," + model + ",\"-oVICTIM.gguf\"", "ask for --output=");
        row("an export", "\"export\"," + model + ",\"--recipe\"," + model + ",\"--layout=native\",\"-o\",\"VICTIM\"",
            "ask for --output=");
        row("a plan", "\"plan\"," + model + ",\"--budget=4bpw\",\"--output\",\"VICTIM\"", "ask for --output=");
        row("a program", "\"plan\"," + model + ",\"--budget=4bpw\",\"--plugin=VICTIM\"", "ask for --plugin=");
        row("records", "\"audit\"," + model + ",\"--records=VICTIM\"", "ask for --records=");
        row("a cache", "\"sensitivity\"," + model + ",\"--cache=VICTIM\"", "ask for --cache=");
    }
    void forgedRecordsWriteAndRunNothing() {
        QFETCH(QByteArray, command);
        QFETCH(QByteArray, why);
        const QTemporaryDir dir;
        QDir(dir.path()).mkdir(s("out"));
        command.replace("VICTIM", dir.filePath(s("out/victim")).toUtf8());
        QByteArray forged = "{\"about\":\"x\",\"command\":[" + command + "]}";
        const quint64 size = quint64(forged.size());
        forged = "QSRECORD" + QByteArray(reinterpret_cast<const char*>(&size), 8) + forged;
        const auto ran = run({s("merge"), clitest::put(dir.filePath(s("forged.records")), forged)});
        QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
        QVERIFY(QDir(dir.filePath(s("out"))).isEmpty());
    }
    void recordsAreOfTheInput() {
        const QTemporaryDir dir;
        const QString path = dir.filePath(s("x.safetensors")), records = dir.filePath(s("r"));
        const QStringList command = {s("analyze"), path, s("--spec"), s("int8"), s("--records"), records};
        QVERIFY(!put(path, safetensors({{"w", "F32", "[64,64]", ramp(64 * 64)}})).isEmpty());
        const auto before = rowsOf(command);
        QByteArray other = ramp(64 * 64);
        other.replace(0, 4, floats({9.0f}));
        QVERIFY(!put(path, safetensors({{"w", "F32", "[64,64]", other}})).isEmpty());
        QCOMPARE(run({s("merge"), records}).code, 1); // the file is another one now
        QVERIFY(rowsOf(command) != before);
    }
};

QS_TEST(SharedUnitsTest)
#include "shared_units_test.moc"
