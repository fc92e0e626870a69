// SPDX-License-Identifier: GPL-3.0-or-later
// What the program says of a reader of HDF5 that crashes, hangs or answers with garbage (fake_hdf5_reader).
#include "core/base/job_scope.h"
#include "core/model/hdf5/reader.h"
#include "core/model/model.h"
#include "core/process/worker_process.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <fcntl.h>
#include <thread>

using namespace qs;

class TestHdf5Reader : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void cleanup() { qunsetenv("QS_WORKER"); }
    void readerMisbehaves_data();
    void readerMisbehaves();
    void readerMisbehavesLate_data();
    void readerMisbehavesLate();
    void cancelledWhileItHangs();
    void slowDisksAreWaitedFor();
    void limitsAreOfFiveSeconds();
    void longPathsOfManyLinks();
    void noReaderAtAll();

private:
    std::string path(const char* name) const { return folder_.filePath(QString::fromLatin1(name)).toStdString(); }
    std::string write(const char* name, const QByteArray& bytes) const {
        QFile file(folder_.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
        return file.fileName().toStdString();
    }
    QTemporaryDir folder_;
};

void TestHdf5Reader::initTestCase() {
    QCOMPARE(QProcess::execute(QStringLiteral(QS_BIN_DIR "/make_hdf5"), {folder_.path()}), 0);
}

void TestHdf5Reader::readerMisbehaves_data() {
    QTest::addColumn<QString>("says");
    const std::pair<const char*, const char*> rows[] = {
        {"crash", "the reader of HDF5 stopped (SIGSEGV) at \"/layer/\\u{1b}kernel\""},
        {"hang", "the reader of HDF5 gave no answer for 0.5 s"},
        {"sleep", "the reader of HDF5 did nothing for 0.4 s"},
        {"limited", "is not read: quantscope-worker: the sandbox cannot be entered: its limits cannot be set."},
        {"exit", "the reader of HDF5 stopped (exited with code 7)"},
        {"spin", "the reader of HDF5 went round for 0.3 s without getting on"},
        {"flood", "the list of tensors takes more memory than twice the 4096 bytes and 64 MiB"},
        {"garbage", "answered with garbage: bytes that are no frame"},
        {"stranger", "answered with garbage: an answer to another question"},
        {"many", "answered with garbage: 'rows' is not a count"},
        {"none", "answered with garbage: no rows where some are left"},
        {"overflow", "answered with garbage: "},
        {"type", "answered with garbage: a type that HDF5 does not have"},
        {"shape", "answered with garbage: a shape that is none"}};
    for (const auto& [mode, says] : rows) QTest::newRow(mode) << QString::fromLatin1(says);
}

void TestHdf5Reader::readerMisbehaves() {
    QFETCH(QString, says);
    const auto fake = write("fake.h5", QByteArray("\x89HDF\r\n\x1a\n") + QTest::currentDataTag());
    qputenv("QS_WORKER", QS_BIN_DIR "/fake_hdf5_reader");
    const Descriptor file(::open(fake.c_str(), O_RDONLY | O_CLOEXEC));
    const std::string_view mode = QTest::currentDataTag();
    const bool patient = mode == "spin" || mode == "sleep"; // for an answer, not for progress
    const Hdf5Deadlines deadlines{patient ? 60 : 0.5, patient ? 60 : 5.0, 0.5, 0.3, mode == "sleep" ? 0.4 : 0};
    const auto reader = Hdf5Reader::open(fake, file, 0, 4096, deadlines);
    QVERIFY(!reader);
    QVERIFY2(QString::fromStdString(reader.error().message).contains(says), reader.error().message.c_str());
    QVERIFY2(reader.error().message.find(fake) != std::string::npos, reader.error().message.c_str());
}

void TestHdf5Reader::readerMisbehavesLate_data() {
    QTest::addColumn<QString>("says");
    QTest::newRow("late crash") << QStringLiteral("stopped (SIGKILL)");
    QTest::newRow("late hang") << QStringLiteral("gave no answer");
    QTest::newRow("short") << QStringLiteral("another number of elements");
}

/// Data becomes zeros, and failure() returns the error from then on.
void TestHdf5Reader::readerMisbehavesLate() {
    QFETCH(QString, says);
    const auto fake = write("fake.h5", QByteArray("\x89HDF\r\n\x1a\n") + QTest::currentDataTag());
    qputenv("QS_WORKER", QS_BIN_DIR "/fake_hdf5_reader");
    const Descriptor file(::open(fake.c_str(), O_RDONLY | O_CLOEXEC));
    const auto reader = Hdf5Reader::open(fake, file, 0, 4096, {0.5, 0.5, 0.5});
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    std::vector<std::byte> bytes(1024, std::byte(7));
    QVERIFY(!(*reader)->read(0, 0, bytes));
    QCOMPARE(bytes, std::vector<std::byte>(1024));
    const auto failed = (*reader)->failure(0);
    QVERIFY(!failed);
    QVERIFY2(QString::fromStdString(failed.error().message).contains(says), failed.error().message.c_str());
}

/// A cancel returns at once, and the next request gets its own answer.
void TestHdf5Reader::cancelledWhileItHangs() {
    const auto fake = write("fake.h5", QByteArray("\x89HDF\r\n\x1a\nhang"));
    qputenv("QS_WORKER", QS_BIN_DIR "/fake_hdf5_reader");
    const Job job;
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        job.cancel();
    });
    const JobScope scope(&job);
    QElapsedTimer timer;
    timer.start();
    const auto opened = openModel(fake);
    later.join();
    QVERIFY(!opened && opened.error().cancelled);
    QVERIFY2(timer.elapsed() < 10'000, "the deadline of the question was waited for");
}

/// A reader that waits for the disk is not one that hangs.
void TestHdf5Reader::slowDisksAreWaitedFor() {
    const auto fake = write("fake.h5", QByteArray("\x89HDF\r\n\x1a\ndisk"));
    qputenv("QS_WORKER", QS_BIN_DIR "/fake_hdf5_reader");
    const Descriptor file(::open(fake.c_str(), O_RDONLY | O_CLOEXEC));
    const auto reader = Hdf5Reader::open(fake, file, 0, 4096, {20, 20, 20, 20, 0.3});
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
}

void TestHdf5Reader::limitsAreOfFiveSeconds() {
    QCOMPARE(Hdf5Deadlines().stall, 5.0);
    const auto fake = write("fake.h5", QByteArray("\x89HDF\r\n\x1a\nsleep"));
    qputenv("QS_WORKER", QS_BIN_DIR "/fake_hdf5_reader");
    QElapsedTimer timer;
    timer.start();
    const auto opened = openModel(fake);
    QVERIFY(!opened);
    QVERIFY2(opened.error().message.find("did nothing for 5 s") != std::string::npos, opened.error().message.c_str());
    QVERIFY2(timer.elapsed() < 10'000, qPrintable(QString::number(timer.elapsed())));
}

/// Many links, each with the same long path: a list of gigabytes from a file of a megabyte.
void TestHdf5Reader::longPathsOfManyLinks() {
    const QString file = folder_.filePath(QStringLiteral("long-paths.h5"));
    QCOMPARE(QProcess::execute(QStringLiteral(QS_BIN_DIR "/make_hdf5"), {folder_.path(), QStringLiteral("long")}), 0);
    QVERIFY(QFileInfo(file).size() < 4'000'000);
    const auto opened = openModel(file.toStdString());
    QVERIFY(!opened);
    QVERIFY2(QString::fromStdString(opened.error().message)
                 .contains(QStringLiteral("its list of tensors takes more memory than twice")),
             opened.error().message.c_str());
}

void TestHdf5Reader::noReaderAtAll() {
    qputenv("QS_WORKER", "/nowhere/quantscope-worker");
    const auto opened = openModel(path("honest.h5"));
    QVERIFY(!opened);
    QVERIFY2(opened.error().message.find("/nowhere/quantscope-worker") != std::string::npos,
             opened.error().message.c_str());
}

QS_TEST(TestHdf5Reader)
#include "hdf5_reader_test.moc"
