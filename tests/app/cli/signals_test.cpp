// SPDX-License-Identifier: GPL-3.0-or-later
// A stopped run leaves nothing behind: with SIGINT and SIGTERM at once, with SIGKILL after the next run.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QStorageInfo>
#include <QTemporaryDir>
#include <csignal>
#include <sys/types.h>
#include <unistd.h>

using namespace clitest;

namespace {

/// A sparse file: 4 GiB of zeros that use no disk space.
QString sparseModel(const QString& path) {
    constexpr qint64 rows = 1 << 18, columns = 1 << 12, bytes = rows * columns * 4;
    QByteArray header = "{\"big.weight\":{\"dtype\":\"F32\",\"shape\":[" + QByteArray::number(rows) + "," +
                        QByteArray::number(columns) + "],\"data_offsets\":[0," + QByteArray::number(bytes) + "]}}";
    while (header.size() % 8) header += ' ';
    const quint64 length = quint64(header.size());
    const QByteArray head = QByteArray(reinterpret_cast<const char*>(&length), 8) + header;
    if (put(path, head).isEmpty() || truncate(QFile::encodeName(path).constData(), head.size() + bytes) != 0) return {};
    return path;
}

/// True if the process has installed its handlers: SIGINT is in its mask of caught signals.
bool catches(qint64 pid) {
    for (const auto& line : bytesOf(s("/proc/%1/status").arg(pid)).split('\n'))
        if (line.startsWith("SigCgt:")) return line.mid(7).trimmed().toULongLong(nullptr, 16) & (1u << (SIGINT - 1));
    return false;
}

} // namespace

class TestSignals : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void stopped_data() {
        QTest::addColumn<QString>("command");
        QTest::addColumn<int>("signal");
        for (const char* command : {"quantize", "analyze"})
            for (const int signal : {SIGINT, SIGTERM, SIGKILL})
                QTest::addRow("%s %d", command, signal) << s(command) << signal;
        QTest::newRow("inspect") << s("inspect") << SIGINT;
        QTest::newRow("dequantize") << s("dequantize") << SIGINT;
    }
    void stopped() {
        QFETCH(QString, command);
        QFETCH(int, signal);
        QTemporaryDir input, output;
        const QString model = sparseModel(input.filePath(s("big.safetensors")));
        if (model.isEmpty()) QSKIP("The folder for temporary files cannot hold a sparse file of 4 GiB.");
        const QString name = command.endsWith(s("quantize")) ? s("out.safetensors") : s("out.json");
        const QString out = put(output.filePath(name), "old");
        QProcess process;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(s("QS_THREADS"), s("1")); // slow enough to be stopped while it runs
        process.setProcessEnvironment(environment);
        QStringList arguments = {command, model};
        if (command == u"quantize" || command == u"analyze") arguments << s("--spec") << s("nf4:block=64");
        if (command == u"inspect") arguments << s("--stats");
        if (command == u"dequantize" && QStorageInfo(output.path()).bytesAvailable() < qint64(6) << 30)
            QSKIP("The folder for temporary files has no room for an output of 4 GiB.");
        process.start(binary(),
                      arguments << s("--force") << (command.endsWith(s("quantize")) ? s("-o") : s("--json")) << out);
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(catches(process.processId()), 20'000);
        QTest::qWait(150);
        QVERIFY2(process.state() == QProcess::Running, "it was done before it could be stopped");
        QElapsedTimer timer;
        timer.start();
        ::kill(pid_t(process.processId()), signal);
        QVERIFY(process.waitForFinished(20'000));
        qInfo("stopped within %lld ms", timer.elapsed());
        if (signal == SIGKILL)
            QCOMPARE(process.exitStatus(), QProcess::CrashExit);
        else {
            QCOMPARE(process.exitStatus(), QProcess::NormalExit);
            QCOMPARE(process.exitCode(), 128 + signal);
            const auto err = process.readAllStandardError();
            QVERIFY2(isSentence(err), err.constData());
        }
        QCOMPARE(entries(output.path()), QStringList{name});
        QCOMPARE(bytesOf(out), QByteArray("old"));
    }
    /// Not every step of these commands checks for a stop.
    void labsEndAtOnce_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("kvcache") << QStringList{s("kvcache"), s("--heads"), s("32"), s("--tokens"),
                                                s("65536"),   s("--dim"),   s("64")};
        QTest::newRow("train") << QStringList{s("train"), s("WIDE"),   s("--tensor"), s("w"),       s("--spec"),
                                              s("int4"),  s("--rows"), s("4096"),     s("--steps"), s("1000000")};
    }
    void labsEndAtOnce() {
        QFETCH(QStringList, arguments);
        QTemporaryDir input;
        const QString wide =
            put(input.filePath(s("wide.safetensors")), safetensors({{"w", "F32", "[64,8192]", ramp(64 * 8192)}}));
        arguments.replaceInStrings(s("WIDE"), wide);
        QProcess process;
        process.start(binary(), arguments);
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(catches(process.processId()), 20'000);
        QTest::qWait(700);
        QVERIFY2(process.state() == QProcess::Running, "it was done before it could be stopped");
        QElapsedTimer timer;
        timer.start();
        ::kill(pid_t(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(30'000));
        qInfo("stopped within %lld ms", timer.elapsed());
        QCOMPARE(process.exitCode(), 128 + SIGINT);
        QVERIFY2(timer.elapsed() < 5'000, "it went on with its step");
    }
    // After SIGKILL only the next run can remove the files.
    void killedFolderIsTidiedUpByTheNextRun() {
        QTemporaryDir input, output;
        const QString model = sparseModel(input.filePath(s("big.safetensors")));
        if (model.isEmpty()) QSKIP("The folder for temporary files cannot hold a sparse file of 4 GiB.");
        const QString small =
            put(input.filePath(s("small.safetensors")), safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}}));
        const QString out = output.filePath(s("out"));
        QProcess process;
        process.start(binary(), {s("quantize"), model, s("--spec"), s("nf4:block=64"), s("-o"), out});
        QVERIFY(process.waitForStarted());
        QTRY_COMPARE_WITH_TIMEOUT(entries(output.path()).size(), 1, 20'000);
        ::kill(pid_t(process.processId()), SIGKILL);
        QVERIFY(process.waitForFinished(20'000));
        QCOMPARE(process.exitStatus(), QProcess::CrashExit);
        QVERIFY(entries(output.path())[0].startsWith(s("out.partial-")));
        const auto ran = run({s("quantize"), small, s("--spec"), s("nf4:block=64"), s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QCOMPARE(entries(output.path()), QStringList{s("out")});
        QCOMPARE(entries(out), (QStringList{s(".quantscope"), s("certificate.json"), s("small.safetensors")}));
    }
};

QS_TEST(TestSignals)
#include "signals_test.moc"
