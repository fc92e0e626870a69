// SPDX-License-Identifier: GPL-3.0-or-later
// Output files are complete or do not exist, however the writing ends.
#include "core/model/model.h"
#include "core/model/output/atomic_file.h"
#include "core/model/output/folder_lock.h"
#include "made_file.h"
#include "tests/support/test_program.h"

#include <csignal>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace qs;

class AtomicFileTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void nothingBeforeCommit();
    void replacesAtOnceAndKeepsTheMode();
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
    void folderAppearsWhole();
    void folderIsReplacedOnlyIfOurs();
    void namesOverTwoLines();
    void folderOfAnOpenedInput();
    void killedFolderIsTidiedUp();
    void othersFoldersStay();
    void interruptedReplacementIsFound();
    void oneAtATimeNamesAFile();

private:
    std::string at(const char* name) const {
        return (folder_->path() + QLatin1Char('/') + QString::fromUtf8(name)).toStdString();
    }
    QStringList names() const { return namesIn(folder_->path()); }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

QString createRefusal(const std::string& path) {
    const auto file = AtomicFile::create(path);
    return file ? QStringLiteral("it was created") : text(file.error().message);
}

mode_t modeOf(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// Runs `work` in a child process, which is killed when it calls ready().
bool killedAfter(const std::function<void(const std::function<void()>&)>& work) {
    int pipe[2];
    if (::pipe(pipe) != 0) return false;
    const pid_t child = ::fork();
    if (child == 0) {
        work([&] {
            if (::write(pipe[1], "1", 1) == 1)
                for (;;) ::pause();
        });
        ::_exit(1);
    }
    ::close(pipe[1]);
    char byte = 0;
    const bool ready = ::read(pipe[0], &byte, 1) == 1;
    ::close(pipe[0]);
    ::kill(child, SIGKILL);
    return ::waitpid(child, nullptr, 0) == child && ready;
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

void AtomicFileTest::folderAppearsWhole() {
    {
        auto dropped = AtomicFolder::create(at("dir"));
        QVERIFY(dropped && writeWholeFile(dropped->partialPath() + "/a.json", "{}"));
        QVERIFY(!names().contains(QStringLiteral("dir")));
    }
    QCOMPARE(names(), QStringList());
    auto folder = AtomicFolder::create(at("dir"));
    QVERIFY(folder && writeWholeFile(folder->partialPath() + "/a.json", "{}"));
    QVERIFY(folder->commit());
    QCOMPARE(names(), QStringList{QStringLiteral("dir")});
    QCOMPARE(bytesOf(text(at("dir/a.json"))), QByteArray("{}"));
}

void AtomicFileTest::folderIsReplacedOnlyIfOurs() {
    const auto writeOne = [&](const char* name) {
        auto folder = AtomicFolder::create(at("dir"));
        if (!folder) return text(folder.error().message);
        if (!writeWholeFile(folder->partialPath() + "/" + name, "x")) return QStringLiteral("not written");
        const auto done = folder->commit();
        return done ? QString() : text(done.error().message);
    };
    QVERIFY(QDir().mkdir(text(at("dir")))); // empty
    QCOMPARE(writeOne("first"), QString());
    QCOMPARE(writeOne("second"), QString()); // replaces our own output
    QVERIFY(QFile::exists(text(at("dir/second"))) && !QFile::exists(text(at("dir/first"))));
    put(folder_->path(), QStringLiteral("dir/notes.txt"), "mine");
    QVERIFY(writeOne("third").contains(QStringLiteral("holds notes.txt, which QuantScope did not write")));
    QCOMPARE(bytesOf(text(at("dir/notes.txt"))), QByteArray("mine"));
    QVERIFY(QFile::remove(text(at("dir/.quantscope"))));
    QVERIFY(writeOne("third").contains(QStringLiteral("was not written by QuantScope")));
    QCOMPARE(names(), QStringList{QStringLiteral("dir")});
    put(folder_->path(), QStringLiteral("file"), "x");
    QVERIFY(text(AtomicFolder::create(at("file")).error().message).contains(QStringLiteral("is a file, not a folder")));
}

/// A file name with a line break is a single name. A file named like its last line is not ours.
void AtomicFileTest::namesOverTwoLines() {
    const auto writeOne = [&](const std::string& name) {
        auto folder = AtomicFolder::create(at("dir"));
        if (!folder) return text(folder.error().message);
        if (!writeWholeFile(folder->partialPath() + "/" + name, "x")) return QStringLiteral("not written");
        const auto done = folder->commit();
        return done ? QString() : text(done.error().message);
    };
    QCOMPARE(writeOne("first\nnotes.txt"), QString());
    QCOMPARE(writeOne("second\nnotes.txt"), QString()); // replaces our own output
    put(folder_->path(), QStringLiteral("dir/notes.txt"), "mine");
    QVERIFY(writeOne("third").contains(QStringLiteral("holds notes.txt, which QuantScope did not write")));
    QCOMPARE(bytesOf(text(at("dir/notes.txt"))), QByteArray("mine"));
    // A marker that is a pipe does not count.
    QVERIFY(QDir().mkdir(text(at("piped"))));
    QCOMPARE(::mkfifo(at("piped/.quantscope").c_str(), 0600), 0);
    QVERIFY(text(AtomicFolder::create(at("piped")).error().message)
                .contains(QStringLiteral("was not written by QuantScope")));
}

void AtomicFileTest::folderOfAnOpenedInput() {
    const auto model =
        *openModel(put(folder_->path(), QStringLiteral("m/model.safetensors"), smallFile()).toStdString());
    for (const char* name : {"m", "m/", "."}) {
        const auto folder = AtomicFolder::create(at(name), model.get());
        QVERIFY(!folder);
        QVERIFY2(text(folder.error().message).contains(QStringLiteral("holds the opened")),
                 folder.error().message.c_str());
    }
    QVERIFY(AtomicFolder::create(at("m/out"), model.get()));
    QVERIFY(AtomicFolder::create(at("m2"), model.get()));
}

void AtomicFileTest::killedFolderIsTidiedUp() {
    const auto leave = [&](const char* name) {
        return killedAfter([&](const auto& ready) {
            auto folder = AtomicFolder::create(at(name));
            if (folder && writeWholeFile(folder->partialPath() + "/a", "x") &&
                ::mkdir((folder->partialPath() + "/sub").c_str(), 0700) == 0)
                ready();
        });
    };
    const auto partials = [&] { return names().filter(QStringLiteral(".partial-")); };
    QVERIFY(leave("dir"));
    QCOMPARE(partials().size(), 1);
    QVERIFY(leave("other"));
    QVERIFY(QDir(folder_->path()).mkdir(QStringLiteral("dir.partial-00000000"))); // killed before it was marked
    QCOMPARE(partials().size(), 3);
    auto alive = AtomicFolder::create(at("dir"));
    QVERIFY(alive);
    QCOMPARE(partials().size(), 2); // its own leftover and that of the other output
    auto second = AtomicFolder::create(at("dir"));
    QVERIFY(second && QFile::exists(text(alive->partialPath())));
    QVERIFY(writeWholeFile(alive->partialPath() + "/first", "1") && alive->commit());
    QVERIFY(writeWholeFile(second->partialPath() + "/second", "2") && second->commit());
    QCOMPARE(QDir(text(at("dir"))).entryList(QDir::Files | QDir::Hidden),
             (QStringList{QStringLiteral(".quantscope"), QStringLiteral("second")}));
    QCOMPARE(partials().size(), 1);
    QVERIFY(partials()[0].startsWith(QStringLiteral("other.")));
}

void AtomicFileTest::othersFoldersStay() {
    const QDir dir(folder_->path());
    const auto marked = [&](const char* name, const char* marker) {
        put(folder_->path(), QString::fromUtf8(name) + QStringLiteral("/kept"), "x");
        if (marker) put(folder_->path(), QString::fromUtf8(name) + QStringLiteral("/.quantscope-writing"), marker);
    };
    marked("dir.partial-0123abcd", nullptr);
    marked("dir.partial-0123abce", "QuantScope on another.machine is writing this folder and removes it.\n");
    marked("dir.partial-0123abcf", "words of somebody else");
    marked("dir.partial-0123ABCD", "");
    marked("dir.partial-0123abcd0", "");
    marked("adir.partial-0123abcd", "");
    put(folder_->path(), QStringLiteral("dir.partial-01234567"), "a file");
    const auto before = names();
    QCOMPARE(before.size(), 7);
    QVERIFY(AtomicFolder::create(at("dir")));
    QVERIFY(AtomicFile::create(at("dir")));
    QCOMPARE(names(), before);
}

/// A kill between the two renames: nothing has the name, and both folders are complete.
void AtomicFileTest::interruptedReplacementIsFound() {
    for (const std::string name : {"00000001", "00000002"}) {
        auto folder = AtomicFolder::create(at("made"));
        QVERIFY(folder && writeWholeFile(folder->partialPath() + "/a", name) && folder->commit());
        const std::string left = at("dir") + ".partial-" + name;
        QVERIFY(QDir().rename(text(at("made")), text(left)));
        put(folder_->path(), QStringLiteral("dir.partial-") + text(name) + QStringLiteral("/.quantscope-writing"), "");
    }
    QCOMPARE(names().size(), 2);
    QVERIFY(AtomicFolder::create(at("dir"))); // dropped without commit
    QCOMPARE(names(), QStringList{QStringLiteral("dir")});
    QVERIFY(bytesOf(text(at("dir/a"))).startsWith("0000000"));
    QVERIFY(!QFile::exists(text(at("dir/.quantscope-writing"))));
    auto folder = AtomicFolder::create(at("dir"));
    QVERIFY(folder && writeWholeFile(folder->partialPath() + "/b", "") && folder->commit());
    QVERIFY(QFile::exists(text(at("dir/b"))) && !QFile::exists(text(at("dir/a"))));
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
