// SPDX-License-Identifier: GPL-3.0-or-later
// A command on the model's output that was stopped, or killed, goes on where it was, and gives what one gives that was never
// stopped.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QTemporaryDir>
#include <csignal>
#include <sys/types.h>

using namespace clitest;

class TestGoesOn : public QObject {
    Q_OBJECT
    const QString sample_ = QStringLiteral(QS_SOURCE_DIR "/resources/samples/tiny-llama");

    QStringList command(const QString& name) const {
        QStringList out = {
            name,       sample_, s("--text"), sample_ + s("/heldout.txt"), s("--spec"), s("int3:block=32"),
            s("--ctx"), s("64")};
        if (name == u"eval") return out << s("--chunks") << s("128") << s("--no-floor");
        return out << s("--chunks") << s("8") << s("--tensor") << s("down_proj|k_proj");
    }

private Q_SLOTS:
    void goesOn_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("ending");
        QTest::addColumn<int>("signal");
        for (const int signal : {SIGINT, SIGKILL}) {
            QTest::addRow("sensitivity %d", signal) << s("sensitivity") << s("--cache") << s("*.runs") << signal;
            QTest::addRow("sensitivity, records %d", signal)
                << s("sensitivity") << s("--records") << s("*.records") << signal;
            QTest::addRow("eval, records %d", signal) << s("eval") << s("--records") << s("*.records") << signal;
        }
    }
    void goesOn() {
        QFETCH(QString, name);
        QFETCH(QString, option);
        QFETCH(QString, ending);
        QFETCH(int, signal);
        const QTemporaryDir dir;
        const QString folder = dir.filePath(s("kept"));
        QStringList kept = command(name) << option << folder;
        if (option == u"--records" && name == u"sensitivity") kept << s("--cache") << s("none");
        const auto bytes = [&] {
            qint64 sum = 0;
            for (const auto& file : QDir(folder).entryInfoList({ending})) sum += file.size();
            return sum;
        };
        QProcess process;
        process.start(binary(), kept);
        QVERIFY(process.waitForStarted());
        for (int i = 0; i < 60'000 && bytes() == 0 && !process.waitForFinished(1); ++i) {
        }
        QVERIFY2(process.state() == QProcess::Running, "it was done before it could be stopped");
        ::kill(pid_t(process.processId()), signal);
        QVERIFY(process.waitForFinished(60'000));
        if (signal == SIGINT) {
            const QByteArray err = process.readAllStandardError();
            QCOMPARE(process.exitCode(), 128 + SIGINT);
            QVERIFY2(err.contains("kept in") && err.contains(folder.toUtf8()), err.constData());
        }
        const qint64 before = bytes();
        QVERIFY(before > 0);

        const auto again = run(kept << s("--json") << s("-"));
        QVERIFY2(again.code == 0, again.err.constData());
        QVERIFY(bytes() > before); // something was left to do
        QStringList fresh = command(name) << s("--json") << s("-");
        if (name == u"sensitivity") fresh << s("--cache") << s("none");
        const auto whole = run(fresh);
        QVERIFY2(whole.code == 0, whole.err.constData());
        QVERIFY(!rows(whole.out).isEmpty());
        QCOMPARE(rows(again.out), rows(whole.out));
        if (option != u"--cache") return;
        QSet<QByteArray> keys;
        qsizetype lines = 0;
        for (const QString& file : QDir(folder).entryList({ending}))
            for (const QByteArray& line : bytesOf(QDir(folder).filePath(file)).split('\n'))
                if (!line.isEmpty()) keys.insert(line.left(64)), ++lines;
        QCOMPARE(keys.size(), lines); // no network went forward twice
    }
    /// Without records an evaluation keeps nothing, and says what would.
    void evalSaysWhatKeeps() {
        QProcess process;
        process.start(binary(), command(s("eval")) << s("--spec") << s("int4:block=32"));
        QVERIFY(process.waitForStarted());
        QTest::qWait(400); // the text is read; a signal before that ends the command too
        ::kill(pid_t(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(60'000));
        const QByteArray err = process.readAllStandardError();
        if (process.exitCode() == 0) QSKIP("it was done before it could be stopped");
        QCOMPARE(process.exitCode(), 128 + SIGINT);
        QVERIFY2(isSentence(err) && err.contains("--records"), err.constData());
    }
};

QS_TEST(TestGoesOn)
#include "goes_on_test.moc"
