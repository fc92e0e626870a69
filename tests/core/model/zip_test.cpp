// SPDX-License-Identifier: GPL-3.0-or-later
// ZIP archives: valid ones, and every kind of faulty record.
#include "core/model/mapped_file.h"
#include "core/model/zip/zip.h"
#include "made_zip.h"
#include "tests/support/test_program.h"

#include <fcntl.h>
#include <unistd.h>

using namespace qs;

class ZipTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void opens_data();
    void opens();
    void lies_data();
    void lies();
    void liesInItsData_data();
    void liesInItsData();
    void everyPrefixOfAnArchive();
    void storedMembersAreRangesOfTheFile();
    void inflatedMembersAreSealedMemory();
    void limits();
    void theArchiveIsAskedWhetherMemoryIsCurrent();

private:
    Result<ZipArchive> open(const QByteArray& bytes, const ZipLimits& limits = {}) {
        path_ = put(folder_.path(), QStringLiteral("a.zip"), bytes);
        auto file = MappedFile::open(path_.toStdString());
        if (!file) qFatal("%s", file.error().message.c_str());
        return ZipArchive::open(*file, limits);
    }
    QTemporaryDir folder_;
    QString path_;
};

namespace {

const QByteArray kText = QByteArray("what a member says, again and again. ").repeated(50);

QByteArray asBytes(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), int(bytes.size())};
}

MadeMember with(MadeMember member, void (*change)(MadeMember&)) {
    change(member);
    return member;
}
MadeZip zip(std::vector<MadeMember> members) {
    MadeZip made;
    made.members = std::move(members);
    return made;
}
MadeZip with(void (*change)(MadeZip&)) {
    auto made = zip({{"a.npy", "0123456789"}, {"b.npy", kText, true}});
    change(made);
    return made;
}
MadeZip member(void (*change)(MadeMember&)) {
    return zip({{"a.npy", "0123456789"}, with({"b.npy", kText, true}, change)});
}

} // namespace

void ZipTest::opens_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<int>("members");
    const auto row = [](const char* name, const MadeZip& made, int members) {
        QTest::newRow(name) << made.bytes() << members;
    };
    row("nothing in it", {}, 0);
    row("stored and deflated", with([](MadeZip&) {}), 2);
    row("a comment", with([](MadeZip& z) { z.comment = "made by a test"; }), 2);
    row("a 64-bit end record", with([](MadeZip& z) { z.wide = true; }), 2);
    row("full fields, a 64-bit end record", with([](MadeZip& z) { z.wide = true, z.entries = 0xffff; }), 2);
    row("a folder", zip({{"assets/", ""}, {"assets/a", "x"}}), 1);
    row("empty member", zip({{"a", ""}}), 1);
    row("empty member, deflated", zip({{"a", "", true}}), 1);
    row("dots in names", zip({{".data/id", "1"}, {"a..b/c...", "2"}}), 2);
    row("UTF-8 name", zip({with({"w\xc3\xa4ge", "1"}, [](MadeMember& m) { m.flags = 1 << 11; })}), 1);
    row("padding in an extra field",
        member([](MadeMember& m) { m.localExtra = "FB" + le(20, 2) + QByteArray(20, 'Z'); }), 2);
    row("sizes in 64 bits", member([](MadeMember& m) {
            const auto packed = deflated(kText).size();
            m.bytes = m.packedBytes = 0xffffffff;
            m.extra = m.localExtra =
                le(1, 2) + le(16, 2) + le(std::uint64_t(kText.size()), 8) + le(std::uint64_t(packed), 8);
        }),
        2);
    for (const int bytes : {4, 8})
        for (const bool magic : {false, true})
            row(
                qPrintable(QStringLiteral("descriptor of %1 bytes, magic %2").arg(bytes).arg(magic)),
                [&] {
                    MadeMember m{"b.npy", kText, true};
                    m.flags = 8;
                    m.localCrc = m.localBytes = m.localPacked = 0;
                    const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(kText.constData()), uInt(kText.size()));
                    m.after = (magic ? QByteArray("PK\7\10") : QByteArray()) + le(crc, 4) +
                              le(std::uint64_t(deflated(kText).size()), bytes) + le(std::uint64_t(kText.size()), bytes);
                    return zip({m, {"a.npy", "0123456789"}});
                }(),
                2);
}

void ZipTest::opens() {
    QFETCH(QByteArray, bytes);
    QFETCH(int, members);
    const auto archive = open(bytes);
    QVERIFY2(archive, archive ? "" : archive.error().message.c_str());
    QCOMPARE(int(archive->members().size()), members);
    const auto checked = archive->checkStored();
    QVERIFY(checked && checked->left == 0 && checked->damaged.empty());
    if (const auto* b = archive->find("b.npy")) {
        const auto contents = archive->contents(*b, 100000);
        QVERIFY2(contents, contents ? "" : contents.error().message.c_str());
        QCOMPARE(asBytes(*contents), kText);
        QCOMPARE(asBytes(archive->head(*b, 10).value()), kText.left(10));
    }
}

void ZipTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto raw = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QByteArray(says);
    };
    const auto row = [&](const char* name, const MadeZip& made, const char* says) { raw(name, made.bytes(), says); };
    const auto one = [&](const char* name, void (*change)(MadeMember&), const char* says) {
        row(name, member(change), says);
    };
    const auto whole = [&](const char* name, void (*change)(MadeZip&), const char* says) {
        row(name, with(change), says);
    };
    raw("too short", "PK\3\4", "too short for a ZIP");
    raw("no directory", "PK\3\4" + zeros(100), "the directory at the end of the archive is missing");
    whole(
        "bytes before it", [](MadeZip& z) { z.before = "#!/bin/sh\n"; }, "10 bytes lie before the first member");
    raw("bytes before it, offsets as if not", "#!/bin/sh\n" + with([](MadeZip&) {}).bytes(),
        "bytes were put before, after or into");
    whole(
        "bytes after it", [](MadeZip& z) { z.after = "x"; }, "bytes follow the end of the archive");
    whole(
        "comment beyond the end", [](MadeZip& z) { z.commentLength = 5; }, "or it is cut off");
    whole(
        "bytes between members", [](MadeZip& z) { z.members[0].after = "xy"; }, "2 bytes after member \"a.npy\"");
    whole(
        "bytes before the directory", [](MadeZip& z) { z.beforeDirectory = "xy"; }, "2 bytes after member \"b.npy\"");
    whole(
        "bytes after the directory", [](MadeZip& z) { z.inDirectory = "xy"; }, "has more than the 2 entries");
    whole(
        "a member that the directory hides", [](MadeZip& z) { z.members[0].hidden = true; },
        "lie before the first member");
    whole(
        "a count that hides an entry", [](MadeZip& z) { z.entries = 1; }, "has more than the 1 entries");
    whole(
        "a count too high", [](MadeZip& z) { z.entries = 3, z.inDirectory = zeros(60); }, "after 2 of 3 entries");
    whole(
        "a count without room", [](MadeZip& z) { z.entries = 60000; }, "no room for 60000 entries");
    whole(
        "end records that disagree", [](MadeZip& z) { z.wide = true, z.wideEntries = 1; }, "two end records disagree");
    whole(
        "2^60 entries", [](MadeZip& z) { z.wide = true, z.entries = 0xffff, z.wideEntries = std::int64_t(1) << 60; },
        "over the limit of 1000000");
    whole(
        "several disks", [](MadeZip& z) { z.disk = 1; }, "one part of an archive in several");
    whole(
        "entries on other disks", [](MadeZip& z) { z.here = 1; }, "one part of an archive in several");
    whole(
        "directory beyond the file", [](MadeZip& z) { z.directoryBegin = 0x7fffffff; },
        "should lie at byte 2147483647");
    whole(
        "directory too long", [](MadeZip& z) { z.directorySize = 0x7fffffff; }, "should lie at byte");
    one(
        "another disk", [](MadeMember& m) { m.disk = 1; }, "in another part");
    row("the same name twice", zip({{"a.npy", "1"}, {"a.npy", "2"}}), "is there twice");
    row("the same bytes twice", zip({{"a.npy", "1"}, with({"b.npy", "1"}, [](MadeMember& m) { m.offset = 0; })}),
        "has another name in its own header");
    one(
        "a header where none is", [](MadeMember& m) { m.offset = 7; }, "is not where the directory says");
    one(
        "a header after the members", [](MadeMember& m) { m.offset = 0x7ffffff0; }, "begins after the members end");
    // A complete local header inside the data of another member, as in overlapping zip bombs.
    row(
        "overlapping members",
        [] {
            MadeMember inner{"b.npy", "inner"};
            const QByteArray header = "PK\3\4" + le(20, 2) + le(0, 8) +
                                      le(::crc32(0, reinterpret_cast<const Bytef*>("inner"), 5), 4) + le(5, 4) +
                                      le(5, 4) + le(5, 2) + le(0, 2) + "b.npyinner";
            auto made = zip({{"a.npy", header}, inner});
            made.members[1].offset = 35;
            return made;
        }(),
        "overlaps the next one");
    one(
        "another local name", [](MadeMember& m) { m.localName = "c.npy"; }, "has another name in its own header");
    one(
        "a longer local name", [](MadeMember& m) { m.localName = "b.npy2"; }, "has another name in its own header");
    one(
        "other local flags", [](MadeMember& m) { m.localFlags = 2; }, "has other flags or another method");
    one(
        "another local method", [](MadeMember& m) { m.localMethod = 0; }, "has other flags or another method");
    one(
        "another local checksum", [](MadeMember& m) { m.localCrc = 1; }, "has another checksum or size");
    one(
        "another local size", [](MadeMember& m) { m.localBytes = 1; }, "has another checksum or size");
    one(
        "no local sizes and no descriptor", [](MadeMember& m) { m.localCrc = m.localBytes = m.localPacked = 0; },
        "has another checksum or size");
    one(
        "a descriptor announced and missing", [](MadeMember& m) { m.flags = 8; }, "no true descriptor");
    one(
        "a descriptor that lies", [](MadeMember& m) { m.flags = 8, m.after = "PK\7\10" + zeros(12); },
        "no true descriptor");
    one(
        "encrypted", [](MadeMember& m) { m.flags = 1; }, "is encrypted");
    one(
        "strongly encrypted", [](MadeMember& m) { m.flags = 1 << 6; }, "is encrypted");
    one(
        "an encrypted directory", [](MadeMember& m) { m.flags = 1 << 13; }, "is encrypted");
    one(
        "patched data", [](MadeMember& m) { m.flags = 1 << 5; }, "flags that are not known (0x0020)");
    for (const int method : {1, 6, 9, 12, 14, 93, 95, 99})
        row(
            qPrintable(QStringLiteral("method %1").arg(method)),
            [&] {
                auto made = member([](MadeMember&) {});
                made.members[1].method = method;
                return made;
            }(),
            "where only 0 (stored) and 8 (deflate) are read");
    one(
        "stored with unequal sizes", [](MadeMember& m) { m.method = 0; }, "is stored, but has 1850 bytes in");
    one(
        "size beyond the file", [](MadeMember& m) { m.packedBytes = 100000; },
        "beyond the place where the members end");
    one(
        "size into the directory", [](MadeMember& m) { m.packedBytes = deflated(kText).size() + 1; },
        "beyond the place where the members end");
    one(
        "2^32-1 bytes without 64-bit sizes", [](MadeMember& m) { m.bytes = 0xffffffff; }, "lacks its 64-bit sizes");
    one(
        "2^63 bytes",
        [](MadeMember& m) {
            m.bytes = m.packedBytes = 0xffffffff;
            m.extra = m.localExtra =
                le(1, 2) + le(16, 2) + le(std::uint64_t(1) << 63, 8) + le(std::uint64_t(1) << 63, 8);
        },
        "beyond the place where the members end");
    one(
        "64-bit offset beyond the file",
        [](MadeMember& m) {
            m.offset = 0xffffffff;
            m.extra = le(1, 2) + le(8, 2) + le(~std::uint64_t(0), 8);
        },
        "begins after the members end");
    one(
        "64-bit sizes twice", [](MadeMember& m) { m.extra = (le(1, 2) + le(0, 2)).repeated(2); }, "64-bit sizes twice");
    one(
        "64-bit sizes too short", [](MadeMember& m) { m.bytes = 0xffffffff, m.extra = le(1, 2) + le(4, 2) + zeros(4); },
        "lacks its 64-bit sizes");
    one(
        "an extra field cut off", [](MadeMember& m) { m.extra = le(1, 2) + le(99, 2) + zeros(4); },
        "extra field that is cut off");
    one(
        "a bomb beyond what deflate can do", [](MadeMember& m) { m.bytes = 1 << 30; }, "which deflate cannot do");
    row("a folder with contents", zip({{"a/", "1"}}), "is a folder with contents");
    const std::pair<const char*, QByteArray> names[] = {
        {"absolute", "/etc/passwd"}, {"of Windows", "C:a"}, {"backslash", "a\\b"}};
    for (const auto& [what, name] : names) row(what, zip({{name, "1"}}), "has a name that is not relative");
    for (const char* name : {"..", "../a", "a/../../b", "a/..", "./a"})
        row(name, zip({{QByteArray(name), "1"}}), "has a name that leads elsewhere");
    row("no name", zip({{"", "1"}}), "has no name");
    row("NUL in a name", zip({{QByteArray("a\0.npy", 6), "1"}}), "has a NUL in its name");
    row("name in no UTF-8", zip({with({"\xff", "1"}, [](MadeMember& m) { m.flags = 1 << 11; })}), "not UTF-8");
    row("name in an old code page", zip({{"\x84", "1"}}), "in an old code page");
}

void ZipTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    const auto archive = open(bytes);
    QVERIFY(!archive);
    const auto message = QByteArray::fromStdString(archive.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path_.toUtf8()) && message.endsWith('.'), message);
}

void ZipTest::liesInItsData_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, void (*change)(MadeMember&), const char* says) {
        QTest::newRow(name) << member(change).bytes() << QByteArray(says);
    };
    row(
        "wrong checksum, deflated", [](MadeMember& m) { m.crc = 1; }, "its checksum (CRC-32) differs");
    row(
        "wrong checksum, stored", [](MadeMember& m) { m.deflate = false, m.crc = 1; }, "its checksum (CRC-32) differs");
    row(
        "inflates to more", [](MadeMember& m) { m.bytes = kText.size() - 1; }, "inflates to more than the 1849 bytes");
    row(
        "inflates to less", [](MadeMember& m) { m.bytes = kText.size() + 1; }, "inflates to fewer than the 1851 bytes");
    row(
        "no deflate stream", [](MadeMember& m) { m.packed = QByteArray(60, '\xff'); }, "is no deflate stream");
    row(
        "stream cut off", [](MadeMember& m) { m.packed = deflated(kText).chopped(3); }, "is no deflate stream");
    row(
        "nothing packed", [](MadeMember& m) { m.data = m.packed = ""; }, "is no deflate stream");
    row(
        "bytes after the stream", [](MadeMember& m) { m.packed = deflated(kText) + "x"; },
        "bytes after the end of its packed");
}

void ZipTest::liesInItsData() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    const auto archive = open(bytes);
    QVERIFY2(archive, archive ? "" : archive.error().message.c_str());
    const auto* b = archive->find("b.npy");
    QVERIFY(b);
    const auto contents = archive->contents(*b, 100000);
    const auto inflated = archive->inflate(std::span(&b, 1));
    QVERIFY(!contents && inflated && inflated->damaged.contains(b));
    QCOMPARE(inflated->damaged.at(b).message, contents.error().message);
    QVERIFY2(text(contents.error().message).contains(QString::fromUtf8(says)), contents.error().message.c_str());
    const auto checked = archive->checkStored();
    QVERIFY(checked && checked->damaged.contains(b) == !b->isDeflated);
}

void ZipTest::everyPrefixOfAnArchive() {
    const QByteArray whole = with([](MadeZip& z) { z.wide = true; }).bytes();
    for (int n = 1; n < whole.size(); ++n) QVERIFY(!open(whole.left(n)));
    QVERIFY(open(whole));
}

void ZipTest::storedMembersAreRangesOfTheFile() {
    const auto archive = open(with([](MadeZip&) {}).bytes());
    const auto* a = archive->find("a.npy");
    QVERIFY(a && !a->isDeflated && !archive->find("c"));
    QCOMPARE(bytesOf(path_).mid(int(a->offset), int(a->bytes)), QByteArray("0123456789"));
}

void ZipTest::inflatedMembersAreSealedMemory() {
    const auto archive = open(with([](MadeZip&) {}).bytes());
    const ZipMember* both[] = {archive->find("b.npy"), archive->find("a.npy")};
    const auto inflated = archive->inflate(both);
    QVERIFY2(inflated, inflated ? "" : inflated.error().message.c_str());
    const auto bytes = inflated->memory->bytes();
    QCOMPARE(QByteArray(reinterpret_cast<const char*>(bytes.data()) + inflated->offsets[0], kText.size()), kText);
    QCOMPARE(QByteArray(reinterpret_cast<const char*>(bytes.data()) + inflated->offsets[1], 10),
             QByteArray("0123456789"));
    QCOMPARE(inflated->offsets[1] % 64, std::uint64_t(0));
    QCOMPARE(text(inflated->memory->path()), path_);
    QVERIFY(::ftruncate(inflated->memory->memory(), 0) != 0);
    QVERIFY(::pwrite(inflated->memory->memory(), "x", 1, 0) != 1);
    QVERIFY(archive->inflate({}));
}

void ZipTest::limits() {
    const QByteArray bytes = zip({{"a", zeros(100000), true}, {"b", zeros(100000), true}, {"c", "stored"}}).bytes();
    const auto refusal = [&](const ZipLimits& limits) {
        const auto archive = open(bytes, limits);
        if (!archive) return text(archive.error().message);
        const ZipMember* both[] = {archive->find("a"), archive->find("b")};
        const auto inflated = archive->inflate(both);
        return inflated ? QString() : text(inflated.error().message);
    };
    ZipLimits few, small, bomb, unchecked;
    few.members = 2;
    QVERIFY(refusal(few).contains(QStringLiteral("it has 3 entries, over the limit of 2")));
    small.inflated = 150000;
    QVERIFY(
        refusal(small).contains(QStringLiteral("member \"b\" does not fit: members would take more than 146.48 KiB")));
    bomb.bombFrom = 50000;
    QVERIFY(refusal(bomb).contains(QStringLiteral("is packed as only bombs are: 100000 bytes in")));
    QCOMPARE(refusal({}), QString());
    unchecked.checked = 5;
    const auto archiveOfFew = open(bytes, unchecked);
    QCOMPARE(archiveOfFew->checkStored()->left, std::uint64_t(6));
    const auto archive = open(bytes);
    QVERIFY(text(archive->contents(*archive->find("a"), 99999).error().message)
                .contains(QStringLiteral("over the limit of 99999")));
}

void ZipTest::theArchiveIsAskedWhetherMemoryIsCurrent() {
    const QByteArray bytes = with([](MadeZip&) {}).bytes();
    const auto archive = open(bytes);
    const auto* b = archive->find("b.npy");
    const auto inflated = archive->inflate(std::span(&b, 1));
    QVERIFY(inflated->memory->unchanged());
    put(folder_.path(), QStringLiteral("a.zip"), bytes + "more");
    const auto same = inflated->memory->unchanged();
    QVERIFY(!same && text(same.error().message).contains(QStringLiteral("was written to")));
}

QS_TEST(ZipTest)
#include "zip_test.moc"
