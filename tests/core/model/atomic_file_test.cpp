// SPDX-License-Identifier: GPL-3.0-or-later
// Outputs are whole or not there, whatever ends the writing.
#include "core/model/atomic_file.h"
#include "core/model/model.h"
#include "made_file.h"

#include <csignal>
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
    void openedInput();
    void folderAppearsWhole();
    void folderIsReplacedOnlyIfOurs();
    void folderOfAnOpenedInput();

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
    QFile reader(text(at("out"))); // who has the old one open keeps it
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

// A limit on file size stands in for the full disk. In a child: the limit holds for the whole process.
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
    int ready[2];
    QCOMPARE(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        auto file = AtomicFile::create(at("out"), 8 << 20);
        if (!file || !file->write(std::string(4 << 20, 'x'))) ::_exit(1);
        if (::write(ready[1], "1", 1) != 1) ::_exit(1);
        ::pause();
    }
    char byte = 0;
    QCOMPARE(::read(ready[0], &byte, 1), 1);
    QCOMPARE(::kill(child, SIGKILL), 0);
    QCOMPARE(::waitpid(child, nullptr, 0), child);
    ::close(ready[0]);
    ::close(ready[1]);
    QCOMPARE(names(), QStringList{QStringLiteral("out")});
    QCOMPARE(bytesOf(text(at("out"))), QByteArray("old"));
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
    QCOMPARE(writeOne("second"), QString()); // replaces what we wrote
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

QTEST_GUILESS_MAIN(AtomicFileTest)
#include "atomic_file_test.moc"
