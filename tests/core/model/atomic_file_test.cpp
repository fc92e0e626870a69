// SPDX-License-Identifier: GPL-3.0-or-later
// Output files are complete or do not exist, however the writing ends.
#include "core/model/model.h"
#include "core/model/output/atomic_file.h"
#include "core/model/output/content_note.h"
#include "core/model/output/folder_lock.h"
#include "made_file.h"
#include "tests/core/model/killed_child.h"
#include "tests/support/test_program.h"

#include <csignal>
#include <filesystem>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace qs;
using namespace qs::test;

namespace {

QString createRefusal(const std::string& path) {
    const auto file = AtomicFile::create(path);
    return file ? QStringLiteral("it was created") : text(file.error().message);
}

mode_t modeOf(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// The file being written has no name. It is found by its descriptor in /proc.
QString unnamedFileIn(const QString& folder) {
    const QString descriptors = QStringLiteral("/proc/self/fd/");
    for (const auto& fd : QDir(descriptors).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot)) {
        char target[4096];
        const ssize_t n = ::readlink((descriptors + fd).toUtf8().constData(), target, sizeof target);
        const auto name = QString::fromUtf8(target, qsizetype(std::max<ssize_t>(0, n)));
        if (name.startsWith(folder + QLatin1Char('/')) && name.endsWith(QStringLiteral(" (deleted)")))
            return descriptors + fd;
    }
    return {};
}

} // namespace

class AtomicFileTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void nothingBeforeCommit();
    void replacesAtOnceAndKeepsTheMode();
    void contentIsNoted();
    void longestNames();
    void refusedTargets();
    void notWritableFolder();
    void fullDisk_data();
    void fullDisk();
    void killedWhileWriting();
    void spoiltBytesGetNoName_data();
    void spoiltBytesGetNoName();
    void cancelledCommit();
    void withoutUnnamedFiles();
    void openedInput();
    void oneAtATimeNamesAFile();

private:
    std::string at(const char* name) const {
        return (folder_->path() + QLatin1Char('/') + QString::fromUtf8(name)).toStdString();
    }

    QStringList names() const { return namesIn(folder_->path()); }
    std::unique_ptr<QTemporaryDir> folder_;
};

void AtomicFileTest::nothingBeforeCommit() {
    {
        auto file = AtomicFile::create(at("out"), 1 << 20);
        QVERIFY(file);
        QVERIFY(file->write(std::string(3 << 20, 'x')));
        QCOMPARE(names(), QStringList());
    }
    QCOMPARE(names(), QStringList());
    const mode_t mask = ::umask(0027);
    auto file = AtomicFile::create(at("out"), 100);
    ::umask(mask);
    QVERIFY(file && file->write(std::string_view("abc")) && file->write(std::string(2 << 20, 'y')) && file->commit());
    QCOMPARE(names(), QStringList{QStringLiteral("out")});
    QCOMPARE(bytesOf(text(at("out"))), "abc" + QByteArray(2 << 20, 'y'));
    QCOMPARE(modeOf(at("out")), mode_t(0640));
}

void AtomicFileTest::replacesAtOnceAndKeepsTheMode() {
    put(folder_->path(), QStringLiteral("out"), "old");
    QCOMPARE(::chmod(at("out").c_str(), 0604), 0);
    auto file = AtomicFile::create(at("out"));
    QVERIFY(file && file->write(std::string_view("new")));
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("old"));
    QFile reader(text(at("out"))); // a process that has the old file open keeps it
    QVERIFY(reader.open(QIODevice::ReadOnly));
    QVERIFY(file->commit());
    QCOMPARE(reader.readAll(), QByteArray("old"));
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("new"));
    QCOMPARE(modeOf(at("out")), mode_t(0604));
    QCOMPARE(names(), QStringList{QStringLiteral("out")});
}

/// The note holds for the content of the whole file, in whatever order and with whatever gaps it was written.
void AtomicFileTest::contentIsNoted() {
    auto file = AtomicFile::create(at("out"));
    const std::string second(3 << 20, 's');
    QVERIFY(file && file->writeAt(10000, std::as_bytes(std::span(second))) && file->write(std::string_view("first")));
    QVERIFY(file->commit());
    if (notedHash(at("out")).empty()) QSKIP("the file system of the temporary folder keeps no attributes");
    QVERIFY(isAsNoted(at("out")));
    QCOMPARE(notedHash(at("out")), *contentHashOf(at("out")));
    QFile edited(text(at("out")));
    QVERIFY(edited.open(QIODevice::Append) && edited.write("x") == 1 && edited.flush());
    QVERIFY(!isAsNoted(at("out")) && !notedHash(at("out")).empty());
    put(folder_->path(), QStringLiteral("other"), "x");
    QVERIFY(!isAsNoted(at("other")) && !isAsNoted(at("nowhere")));
}

/// There is no room for the ending of a partial folder behind such a name.
void AtomicFileTest::longestNames() {
    for (const std::string& name :
         {std::string(254, 'n'), std::string(255, 'n'),
          std::string(219, 'n') + "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"}) {
        for (const char* content : {"one", "two"}) {
            const auto done = writeWholeFile(at(name.c_str()), content);
            QVERIFY2(done, done ? "" : done.error().message.c_str());
            QCOMPARE(bytesOf(QString::fromLocal8Bit(at(name.c_str()).c_str())), QByteArray(content));
        }
        QCOMPARE(names().size(), 1);
        QCOMPARE(::unlink(at(name.c_str()).c_str()), 0);
        for (int i = 0; i < 2; ++i) {
            auto folder = AtomicFolder::create(at(name.c_str()));
            QVERIFY2(folder, folder ? "" : folder.error().message.c_str());
            QVERIFY(writeWholeFile(folder->partialPath() + "/file", "x"));
            QVERIFY(folder->commit());
        }
        QCOMPARE(names().size(), 1);
        std::filesystem::remove_all(at(name.c_str()));
    }
    // What a killed writer left under the shortened name is found again.
    const std::string name(254, 'n');
    QVERIFY(killedAfter([&](const auto& ready) {
        auto folder = AtomicFolder::create(at(name.c_str()));
        if (folder) ready();
    }));
    QCOMPARE(names().size(), 1);
    QVERIFY(writeWholeFile(at(name.c_str()), "whole"));
    QCOMPARE(names().size(), 1);
}

void AtomicFileTest::refusedTargets() {
    put(folder_->path(), QStringLiteral("target"), "kept");
    QCOMPARE(::symlink("target", at("link").c_str()), 0);
    QCOMPARE(::symlink("nowhere", at("dangling").c_str()), 0);
    QVERIFY(createRefusal(at("link"))
                .contains(QStringLiteral(
                    "is a symbolic link and is not replaced; name the file that it points to (target)")));
    QVERIFY(createRefusal(at("dangling")).contains(QStringLiteral("symbolic link")));
    QVERIFY(createRefusal(folder_->path().toStdString()).contains(QStringLiteral("is a folder")));
    QVERIFY(createRefusal("/dev/null").contains(QStringLiteral("/dev/null is no regular file")));
    QVERIFY(createRefusal(at("no/such/out")).contains(QStringLiteral("no/such does not exist")));
    QVERIFY(createRefusal(at("target/out")).contains(QStringLiteral("target is not a folder")));
    QVERIFY(createRefusal("").contains(QStringLiteral("No output file")));
    QVERIFY(createRefusal(std::string("a\0b", 3)).contains(QStringLiteral("NUL")));
    QCOMPARE(bytesOf(text(at("target"))), QByteArray("kept"));
    QCOMPARE(names().size(), 3);
}

void AtomicFileTest::notWritableFolder() {
    if (::geteuid() != 0)
        QCOMPARE(::chmod(folder_->path().toUtf8().constData(), 0500), 0);
    else if (::seteuid(65534) != 0)
        QSKIP("running as root, who can write everywhere, and the user nobody is not there");
    const QString why = createRefusal(at("out"));
    if (::getuid() == 0) QCOMPARE(::seteuid(0), 0);
    ::chmod(folder_->path().toUtf8().constData(), 0700);
    QVERIFY2(why.contains(QStringLiteral("out cannot be written: Permission denied")), qPrintable(why));
}

void AtomicFileTest::fullDisk_data() {
    QTest::addColumn<qulonglong>("expected");
    QTest::newRow("while writing") << qulonglong(0);
    QTest::newRow("known before") << (qulonglong(4) << 20);
    QTest::newRow("more than any disk") << (qulonglong(1) << 55);
    QTest::newRow("more than any file") << ~qulonglong(0);
}

// A limit on the file size acts like a full disk. In a child process, because the limit is for the whole process.
void AtomicFileTest::fullDisk() {
    QFETCH(qulonglong, expected);
    put(folder_->path(), QStringLiteral("out"), "old");
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{1 << 20, 1 << 20};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        auto file = AtomicFile::create(at("out"), expected);
        if (expected > 0)
            ::_exit(!file && file.error().message.find("cannot be written: ") != std::string::npos ? 0 : 1);
        if (!file) ::_exit(2);
        Result<void> written;
        for (int i = 0; written && i < 64; ++i) written = file->write(std::string(100'000, 'x'));
        if (written) ::_exit(3);
        ::_exit(written.error().message.find("out cannot be written: File too large") != std::string::npos ? 0 : 4);
    }
    int status = 0;
    QCOMPARE(::waitpid(child, &status, 0), child);
    QVERIFY2(WIFEXITED(status), "the signal of the size limit must not end the process");
    QCOMPARE(WEXITSTATUS(status), 0);
    QCOMPARE(names(), QStringList{QStringLiteral("out")});
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("old"));
}

void AtomicFileTest::killedWhileWriting() {
    put(folder_->path(), QStringLiteral("out"), "old");
    QVERIFY(killedAfter([&](const auto& ready) {
        auto file = AtomicFile::create(at("out"), 8 << 20);
        if (file && file->write(std::string(4 << 20, 'x'))) ready();
    }));
    QCOMPARE(names(), QStringList{QStringLiteral("out")});
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("old"));
}

void AtomicFileTest::spoiltBytesGetNoName_data() {
    QTest::addColumn<qlonglong>("at");
    QTest::addColumn<bool>("cut");
    QTest::addColumn<QString>("says");
    const auto range = [](const char* bytes) {
        return QStringLiteral("its bytes %1 read back").arg(QLatin1String(bytes));
    };
    QTest::newRow("first byte") << qlonglong(0) << false << range("0 to 1048576");
    QTest::newRow("in the middle") << qlonglong(1'500'000) << false << range("1048576 to 2097152");
    QTest::newRow("last byte on the disk") << qlonglong((3 << 20) - 1) << false << range("2097152 to 3145728");
    QTest::newRow("cut") << qlonglong(2'000'000) << true << range("1048576 to 2097152");
    QTest::newRow("sound") << qlonglong(-1) << false << QString();
}

// A faulty disk: bytes have changed or are missing when they are read again.
void AtomicFileTest::spoiltBytesGetNoName() {
    QFETCH(qlonglong, at);
    QFETCH(bool, cut);
    QFETCH(QString, says);
    const std::string out = this->at("out");
    put(folder_->path(), QStringLiteral("out"), "old");
    auto file = AtomicFile::create(out);
    QVERIFY(file && file->write(std::string(3 << 20, 'x')) && file->write(std::string_view("end")));
    QFile written(unnamedFileIn(folder_->path()));
    if (written.fileName().isEmpty()) QSKIP("the file system has no files without a name");
    QVERIFY(written.open(QIODevice::ReadWrite));
    if (cut) {
        QVERIFY(written.resize(at));
    } else if (at >= 0) {
        QVERIFY(written.seek(at));
        QCOMPARE(written.read(1), QByteArray("x"));
        QVERIFY(written.seek(at) && written.write("y") == 1 && written.flush());
    }
    const auto done = file->commit();
    QCOMPARE(names(), QStringList{QStringLiteral("out")});
    QCOMPARE(done.has_value(), says.isEmpty());
    if (!done) QVERIFY2(text(done.error().message).contains(says), done.error().message.c_str());
    QCOMPARE(bytesOf(text(out)), done ? QByteArray(3 << 20, 'x') + "end" : QByteArray("old"));
}

void AtomicFileTest::cancelledCommit() {
    auto file = AtomicFile::create(at("out"));
    QVERIFY(file && file->write(std::string(3 << 20, 'x')));
    Job job;
    job.cancel();
    const auto done = file->commit(job);
    QVERIFY(!done && done.error().cancelled);
    QCOMPARE(names(), QStringList());
}

// Unnamed files need /proc to get a name. Without it a named file in a marked folder is used.
void AtomicFileTest::withoutUnnamedFiles() {
    if (::geteuid() != 0) QSKIP("only root may change the root folder, which takes /proc away");
    put(folder_->path(), QStringLiteral("out"), "old");
    const auto rooted = [&](const std::function<void()>& work) {
        if (::chroot(folder_->path().toUtf8().constData()) == 0 && ::chdir("/") == 0) work();
    };
    QVERIFY(killedAfter([&](const auto& ready) {
        rooted([&] {
            auto file = AtomicFile::create("/out", 100);
            if (file && file->write(std::string(2 << 20, 'x'))) ready();
        });
    }));
    QCOMPARE(names().size(), 2); // the leftover of the killed process
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("old"));
    QVERIFY(killedAfter([&](const auto& ready) {
        rooted([&] {
            if (writeWholeFile("/out", "new") && writeWholeFile("/second", "2")) ready();
        });
    }));
    QCOMPARE(names(), (QStringList{QStringLiteral("out"), QStringLiteral("second")}));
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("new"));
    QCOMPARE(bytesOf(text(at("second"))), QByteArray("2"));
}

void AtomicFileTest::openedInput() {
    const auto model = *openModel(put(folder_->path(), QStringLiteral("in.safetensors"), smallFile()).toStdString());
    QCOMPARE(::link(at("in.safetensors").c_str(), at("hard").c_str()), 0);
    QCOMPARE(::symlink("in.safetensors", at("soft").c_str()), 0);
    for (const char* name : {"in.safetensors", "hard", "soft"}) {
        const auto apart = notAnOpenedInput(at(name), model.get());
        QVERIFY(!apart);
        QVERIFY(text(apart.error().message).contains(QStringLiteral("is open as the input")));
    }
    QVERIFY(notAnOpenedInput(at("other"), model.get()));
    QVERIFY(notAnOpenedInput(at("in.safetensors"), nullptr));
}

/// A second process waits until the first has named its file and the files that belong to it. It does not wait for a
/// killed process. An error before the rename keeps the old file.
void AtomicFileTest::oneAtATimeNamesAFile() {
    {
        const auto lock = FolderLock::take(folder_->path().toStdString());
        QVERIFY(lock);
        const Job job; // without the cancel it would wait
        job.cancel();
        const auto second = FolderLock::take(folder_->path().toStdString(), job);
        QVERIFY(!second && second.error().cancelled);
    }
    QVERIFY(writeWholeFile(at("out"), "old"));
    auto file = AtomicFile::create(at("out"));
    QVERIFY(file && file->write("new"));
    QVERIFY(!file->commit({}, {.check = {}, .before = [] { return fail("no"); }, .after = {}}));
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("old"));
    auto other = AtomicFile::create(at("out"));
    QVERIFY(other && other->write("new"));
    QByteArray before, after;
    const auto read = [&](QByteArray& into) {
        return [&]() -> Result<void> {
            into = bytesOf(text(at("out")));
            return {};
        };
    };
    QVERIFY(other->commit({}, {.check = {}, .before = read(before), .after = read(after)}));
    QCOMPARE(before, QByteArray("old"));
    QCOMPARE(after, QByteArray("new"));
}

QS_TEST(AtomicFileTest)
#include "atomic_file_test.moc"
