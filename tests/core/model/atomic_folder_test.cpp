// SPDX-License-Identifier: GPL-3.0-or-later
// Output folders are complete or do not exist, however the writing ends.
#include "core/model/model.h"
#include "core/model/output/atomic_file.h"
#include "made_file.h"
#include "tests/core/model/killed_child.h"
#include "tests/support/test_program.h"

#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>

using namespace qs;
using namespace qs::test;

class AtomicFolderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void folderAppearsWhole();
    void folderIsReplacedOnlyIfOurs();
    void theContentCounts();
    void namesOverTwoLines();
    void folderOfAnOpenedInput();
    void killedFolderIsTidiedUp();
    void othersFoldersStay();
    void interruptedReplacementIsFound();

private:
    std::string at(const char* name) const {
        return (folder_->path() + QLatin1Char('/') + QString::fromUtf8(name)).toStdString();
    }

    QStringList names() const { return namesIn(folder_->path()); }
    std::unique_ptr<QTemporaryDir> folder_;
};

void AtomicFolderTest::folderAppearsWhole() {
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

void AtomicFolderTest::folderIsReplacedOnlyIfOurs() {
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
    put(folder_->path(), QStringLiteral("dir/second"), "mine"); // another file under the name of ours
    QVERIFY(writeOne("third").contains(QStringLiteral("holds second, which has changed since QuantScope wrote it")));
    QCOMPARE(bytesOf(text(at("dir/second"))), QByteArray("mine"));
    put(folder_->path(), QStringLiteral("dir/notes.txt"), "mine");
    QVERIFY(writeOne("third").contains(QStringLiteral("holds notes.txt, which QuantScope did not write")));
    QCOMPARE(bytesOf(text(at("dir/notes.txt"))), QByteArray("mine"));
    QVERIFY(QFile::remove(text(at("dir/.quantscope"))));
    QVERIFY(writeOne("third").contains(QStringLiteral("was not written by QuantScope")));
    QCOMPARE(names(), QStringList{QStringLiteral("dir")});
    put(folder_->path(), QStringLiteral("file"), "x");
    QVERIFY(text(AtomicFolder::create(at("file")).error().message).contains(QStringLiteral("is a file, not a folder")));
}

/// A new time is no change, and the old time hides none.
void AtomicFolderTest::theContentCounts() {
    const auto writeOne = [&] {
        auto folder = AtomicFolder::create(at("dir"));
        if (!folder) return text(folder.error().message);
        if (!writeWholeFile(folder->partialPath() + "/file", "ours")) return QStringLiteral("not written");
        const auto done = folder->commit();
        return done ? QString() : text(done.error().message);
    };
    QCOMPARE(writeOne(), QString());
    QCOMPARE(::utimensat(AT_FDCWD, at("dir/file").c_str(), nullptr, 0), 0);
    QCOMPARE(writeOne(), QString());
    struct stat before {};
    QCOMPARE(::stat(at("dir/file").c_str(), &before), 0);
    put(folder_->path(), QStringLiteral("dir/file"), "mine");
    const timespec times[] = {before.st_atim, before.st_mtim};
    QCOMPARE(::utimensat(AT_FDCWD, at("dir/file").c_str(), times, 0), 0);
    QVERIFY(writeOne().contains(QStringLiteral("holds file, which has changed since QuantScope wrote it")));
    QCOMPARE(bytesOf(text(at("dir/file"))), QByteArray("mine"));
    QVERIFY(QFile::remove(text(at("dir/file"))));
    QCOMPARE(::symlink("/dev/null", at("dir/file").c_str()), 0);
    QVERIFY(writeOne().contains(QStringLiteral("has changed since")));
}

/// A file name with a line break is a single name. A file named like its last line is not ours.
void AtomicFolderTest::namesOverTwoLines() {
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

void AtomicFolderTest::folderOfAnOpenedInput() {
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

void AtomicFolderTest::killedFolderIsTidiedUp() {
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

void AtomicFolderTest::othersFoldersStay() {
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
void AtomicFolderTest::interruptedReplacementIsFound() {
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

QS_TEST(AtomicFolderTest)
#include "atomic_folder_test.moc"
