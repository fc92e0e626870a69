// SPDX-License-Identifier: GPL-3.0-or-later
// Worker processes must leave nothing behind: no descriptor, no zombie, no process. No worker process may outlive the
// program.
#include "bad_source.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace qs;
using namespace qs::test;

namespace {

qsizetype descriptors() { return QDir(q("/proc/self/fd")).entryList(QDir::Files | QDir::System).size(); }

/// Running processes from /proc with this name, whose status file contains `line` ("PPid:\t12").
QList<pid_t> processes(const QByteArray& name, const QByteArray& line) {
    QList<pid_t> found;
    for (const auto& entry : QDir(q("/proc")).entryList(QDir::Dirs)) {
        bool number = false;
        const int pid = entry.toInt(&number);
        QFile status(q("/proc/") + entry + q("/status"));
        if (!number || !status.open(QIODevice::ReadOnly)) continue;
        const QByteArray text = status.readAll();
        if (!text.startsWith("Name:\t" + name) || text.contains("State:\tZ")) continue;
        if (!text.contains('\n' + line + '\n')) continue;
        found << pid;
    }
    return found;
}

/// Processes started by a worker process of this program, in any group or session. They are found by a mark in their
/// environment.
QStringList withOurMark() {
    const QByteArray mark = "QUANTSCOPE_WORKER_MARK=" + QByteArray::number(getpid()) + '-';
    QStringList found;
    for (const auto& entry : QDir(q("/proc")).entryList(QDir::Dirs)) {
        QFile environment(q("/proc/") + entry + q("/environ"));
        if (environment.open(QIODevice::ReadOnly) && environment.readAll().contains(mark)) found << entry;
    }
    return found;
}

QByteArray childOf(pid_t parent) { return "PPid:\t" + QByteArray::number(parent); }
QByteArray inGroup(pid_t leader) { return "NSpgid:\t" + QByteArray::number(leader); }

const QByteArray kWorker = "quantscope-work"; // the kernel cuts process names to this length

} // namespace

class TestProcesses : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingIsLeftBehind() {
        (void)probeBackend(badSource(), patient(), {}); // the first call starts the thread that starts worker
                                                        // processes; it stays
        const auto before = descriptors();
        for (const char* fault : {"", "open:crash", "prepare:hang", "bench:exit", "execute:wire", "prepare:child"}) {
            auto opened = openBackend(badSource(fault), *fault ? hurried(fault) : patient(), {});
            Product product;
            if (opened) (void)wholeRun(**opened, product);
        }
        QCOMPARE(descriptors(), before);
        QCOMPARE(processes(kWorker, childOf(getpid())).size(), qsizetype(0));
        QCOMPARE(waitpid(-1, nullptr, WNOHANG), pid_t(-1)); // no zombie: there is no child at all
        QCOMPARE(errno, ECHILD);
    }
    /// "prepare:child" forks; the child has the name and the group of the worker process.
    void childrenOfAPluginDieToo() {
        auto opened = openBackend(badSource("prepare:child"), patient(), {});
        QVERIFY(opened);
        const auto workers = processes(kWorker, childOf(getpid()));
        QCOMPARE(workers.size(), qsizetype(1));
        QCOMPARE(processes(kWorker, inGroup(workers.front())), workers);
        Product product;
        const auto kernel = (*opened)->prepare(0, product.problem, "plain", {&product.weight, 1});
        QVERIFY(!kernel);
        QVERIFY2(QString::fromStdString(kernel.error().reason).startsWith(q("crashed in prepare (SIGSEGV)")),
                 kernel.error().reason.c_str());
        QTRY_COMPARE(processes(kWorker, inGroup(workers.front())).size(), qsizetype(0));
    }
    /// A child that left the group and session is found by the mark in its environment.
    void childrenThatLeaveTheGroupDieToo() {
        auto opened = openBackend(badSource("prepare:daemon"), patient(), {});
        QVERIFY(opened);
        Product product;
        QVERIFY(!(*opened)->prepare(0, product.problem, "plain", {&product.weight, 1}));
        QTRY_COMPARE(withOurMark(), QStringList());
    }
    void secretsStayOutside() {
        qputenv("AWS_SECRET_ACCESS_KEY", "hush");
        qputenv("QS_TEST_NOT_A_SECRET", "1");
        const auto opened = openBackend(badSource("open:secret"), patient(), {});
        qunsetenv("AWS_SECRET_ACCESS_KEY");
        qunsetenv("QS_TEST_NOT_A_SECRET");
        QVERIFY(!opened);
        QVERIFY2(opened.error().reason.find("the secret is not here") != std::string::npos,
                 opened.error().reason.c_str());
    }
    void memoryHasAnEnd() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("a sanitizer's shadow takes terabytes: there is no limit under it");
#endif
        const auto opened = openBackend(badSource("open:memory"), patient(), {});
        QVERIFY(!opened);
        QVERIFY2(opened.error().reason.find("there is an end of memory") != std::string::npos,
                 opened.error().reason.c_str());
    }
    /// A thread opens the backend. The end of that thread must not end the worker process.
    void theOpeningThreadMayEnd() {
        std::unique_ptr<Backend> backend;
        std::thread([&] { backend = std::move(*openBackend(badSource(), patient(), {})); }).join();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        QVERIFY(backend->devices());
    }
    void theProgramIsKilled_data() {
        QTest::addColumn<QString>("fault");
        QTest::newRow("idle") << QString();
        QTest::newRow("while it hangs") << q("prepare:hang");
    }
    void theProgramIsKilled() {
        QFETCH(QString, fault);
        QProcess program;
        program.start(QCoreApplication::applicationFilePath(), {q("--hold"), fault});
        QVERIFY(program.waitForStarted());
        QVERIFY(program.waitForReadyRead(20'000));
        QCOMPARE(program.readAll().trimmed(), QByteArray("open"));
        const auto workers = processes(kWorker, childOf(pid_t(program.processId())));
        QCOMPARE(workers.size(), qsizetype(1));
        QTest::qWait(100); // waits until the step hangs
        program.kill();
        QVERIFY(program.waitForFinished());
        QTRY_VERIFY(!QFile::exists(q("/proc/%1").arg(workers.front())));
    }
    void manyAtOnce() {
        const auto before = descriptors();
        std::vector<std::thread> threads;
        std::atomic<int> good = 0;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&good] {
                BackendSource source = badSource();
                auto opened = openBackend(source, patient(), {});
                Product product;
                if (opened && wholeRun(**opened, product)) ++good;
            });
        for (auto& thread : threads) thread.join();
        QCOMPARE(good.load(), 8);
        QCOMPARE(descriptors(), before);
    }
    void noWorkerProgram() {
        qputenv("QS_WORKER", "/nowhere/quantscope-worker");
        const auto source = badSource();
        const auto failed = openBackend(source, patient(), {});
        qunsetenv("QS_WORKER");
        QVERIFY(!failed);
        QCOMPARE(failed.error().state, RowState::Unavailable);
        QVERIFY(failed.error().reason.find("/nowhere/quantscope-worker") != std::string::npos);
        QVERIFY(!quarantineReason(source));
    }
    /// A program that ends without an answer, started in place of the worker process.
    void anotherProgram() {
        qputenv("QS_WORKER", "/bin/true");
        const auto failed = probeBackend(badSource(), patient(), {});
        qunsetenv("QS_WORKER");
        QVERIFY(!failed);
        QCOMPARE(QString::fromStdString(failed.error().reason),
                 q("crashed in probe (exited with code 0 without an answer)"));
    }
    void workerByHand() {
        QProcess worker;
        worker.start(q(QS_BIN_DIR "/quantscope-worker"), {q("--backend"), q("cpu"), q("--cfg"), q("99")});
        QVERIFY(worker.waitForFinished());
        QCOMPARE(worker.exitCode(), 2);
    }
    void quarantineEndsWithAnotherFile() {
        QTemporaryDir dir;
        BackendSource source = badSource("open:crash");
        const QString copy = dir.filePath(q("copy.so"));
        QVERIFY(QFile::copy(QString::fromStdString(source.path), copy));
        source.path = copy.toStdString();
        QVERIFY(!openBackend(source, patient(), {}));
        QVERIFY(quarantineReason(source));
        auto other = source;
        other.options.emplace_back("path", "/opt/another-vendor.so");
        QVERIFY(!quarantineReason(other)); // this other option value may work
        QFile file(copy);
        QVERIFY(file.open(QIODevice::Append));
        file.write("x");
        file.close();
        QVERIFY(!quarantineReason(source));
    }
};

/// Entry point of the child process: opens a backend with fault argv[2], prints "open", and waits until it is killed.
static int hold(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string fault = argv[2];
    auto opened = openBackend(badSource(fault), patient(), {});
    if (!opened) return 1;
    std::puts("open");
    std::fflush(stdout);
    Product product;
    if (!fault.empty()) (void)wholeRun(**opened, product);
    for (;;) pause();
}

QS_OTHER_MAIN("--hold", hold)
QS_TEST(TestProcesses)
#include "processes_test.moc"
