// SPDX-License-Identifier: GPL-3.0-or-later
// Manifests and nodes with inconsistent bytes.
#include "made_ocdbt.h"

#include "core/model/ocdbt/manifest.h"
#include "core/model/ocdbt/node.h"
#include "tests/support/test_program.h"

#include <memory>

using namespace made_ocdbt;

class OcdbtBytesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { made_ = std::make_unique<Refused>(); }
    void wrappings_data();
    void wrappings();
    void manifests_data();
    void manifests();
    void nodes_data();
    void nodes();
    void everyPrefixAndEveryByte();

private:
    std::unique_ptr<Refused> made_;
};

void OcdbtBytesTest::wrappings_data() {
    QTest::addColumn<QByteArray>("stored");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& stored, const char* says) {
        QTest::newRow(name) << stored << QString::fromUtf8(says);
    };
    const auto resummed = [](QByteArray bytes) { return bytes.chopped(4) + sum(bytes.chopped(4)); };
    const QByteArray good = wrapped(ocdbt::Kind::Node, leaf(array("w")));
    const QByteArray packed = wrapped(ocdbt::Kind::Node, leaf(array("w")), true);
    row("good", good, "");
    row("good, compressed", packed, "");
    row("nothing", {}, "it has 0 bytes, too few");
    row("17 bytes", good.left(17), "it has 17 bytes, too few");
    row("the start of a manifest", resummed(wrapped(ocdbt::Kind::Manifest, leaf(array("w")))),
        "it does not begin as a B+tree node does");
    row("another length", resummed(QByteArray(good).replace(4, 8, le(std::uint64_t(good.size()) + 1))),
        "its header says that it has");
    row("a length beyond 63 bits", resummed(QByteArray(good).replace(4, 8, le(~std::uint64_t(0)))), "its header says");
    row("another check sum", good.chopped(4) + le(0, 4), "its check sum (CRC-32C) is that of other bytes");
    row("a changed byte", QByteArray(good).replace(20, 1, "x"), "its check sum");
    row("version 1", resummed(QByteArray(good).replace(12, 1, "\1")), "it has version 1 of the format");
    row("compression 2", resummed(QByteArray(good).replace(13, 1, "\2")), "it is compressed in a way (2)");
    row("no zstd", resummed(QByteArray(good).replace(13, 1, "\1")), "its zstd data are broken");
    const auto frame = [&](const QByteArray& bytes) {
        QByteArray out = good.left(4) + le(std::uint64_t(14 + bytes.size() + 4)) + QByteArray("\0\1", 2) + bytes;
        return out + sum(out);
    };
    const QByteArray whole = zstd(leaf(array("w")));
    row("zstd, cut", frame(whole.chopped(5)), "its zstd data are broken");
    row("zstd, more behind it", frame(whole + "more"), "it goes on behind its zstd data");
    row("zstd, two frames", frame(whole + whole), "it goes on behind its zstd data");
    row("zstd, empty", frame(zstd({})), "it ends too early");
    row("zstd, 200 MB of zeros", frame(zstd(QByteArray(200'000'000, '\0'))), "it unpacks to more than 134217728 bytes");
}

void OcdbtBytesTest::wrappings() {
    QFETCH(QByteArray, stored);
    QFETCH(QString, says);
    made_->database.data = stored;
    made_->database.save({{}, {}, 0, 0, std::uint64_t(stored.size())});
    if (says.isEmpty())
        QVERIFY2(made_->refusal().isEmpty(), qPrintable(made_->refusal()));
    else
        QS_REFUSED(*made_, says);
}

void OcdbtBytesTest::manifests_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& body, const char* says) {
        QTest::newRow(name) << body << QString::fromUtf8(says);
    };
    const QByteArray start = configuration();
    const Version one{1, 0, 0, 0, 100};
    row("nothing", {}, "it ends too early");
    row("kind 2", configuration(2) + versions({one}), "of a kind (2)");
    row("compression 7", configuration(0, QByteArray(16, 'i'), 4, "\7") + versions({one}), "compressed in a way (7)");
    row("arity 0", configuration(0, QByteArray(16, 'i'), 0) + versions({one}), "an arity that it cannot have");
    row("arity 64", configuration(0, QByteArray(16, 'i'), 64) + versions({one}), "an arity that it cannot have");
    row("no version", start + versions({}), "it has no version");
    row("too many versions", configuration(0, QByteArray(16, 'i'), 1) + versions({{1}, {2}, {3}}),
        "it has more versions than it may");
    row("generation 0", start + versions({{0, 0, 0, 0, 100}}), "its versions are not in order");
    row("a generation twice", start + versions({{3}, {3, 0, 0, 0, 100}}), "its versions are not in order");
    row("a data file without a name", start + versions({{1, 0, 7, 0, 100}}), "in a data file that it does not name");
    row("height 255", start + versions({{1, 255, 0, 0, 100}}), "a height that is not read");
    row("an empty tree that has a height", start + versions({{1, 2, 0, ~std::uint64_t(0), ~std::uint64_t(0)}}),
        "a height that is not read");
    row("more behind it", start + versions({one}) + 'x', "it goes on behind its end");
    row("a number of 70 bits", start + QByteArray(9, '\xff') + "\x7f", "more than 64 bits");
    row("a number without end", start + QByteArray(30, '\xff'), "more than 64 bits");
    row("a million data files", start + varint(1'000'000), "it names too many data files");
    row("older versions without end", (start + versions({one})).chopped(1) + varint(1'000'000),
        "more nodes of older versions");
    row("no keys", start + versions({{1, 0, 0, ~std::uint64_t(0), ~std::uint64_t(0)}}), "holds no zarr array");
    row("a root beyond its file", start + versions({{1, 0, 0, 1000, 100}}), "end beyond the file's 100");
    row("an offset that overflows", start + versions({{1, 0, 0, ~std::uint64_t(0) - 4, 100}}), "end beyond the file's");
    row("a length that overflows", start + versions({{1, 0, 0, 8, ~std::uint64_t(0)}}), "end beyond the file's");
}

void OcdbtBytesTest::manifests() {
    QFETCH(QByteArray, body);
    QFETCH(QString, says);
    put(made_->folder.path(), QStringLiteral("d/0"), QByteArray(100, 'd'));
    for (const bool compress : {false, true}) {
        made_->database.compress = compress;
        made_->database.manifest(body);
        QS_REFUSED(*made_, says);
    }
}

void OcdbtBytesTest::nodes_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& body, const char* says) {
        QTest::newRow(name) << body << QString::fromUtf8(says);
    };
    const QByteArray none = QByteArray(1, '\0') + table({{}}); // height, data files
    row("no entries", none + varint(0), "it has no entries");
    row("2^40 entries", none + varint(std::uint64_t(1) << 40), "it has more entries than it may");
    row("a million entries that are not there", none + varint(1'000'000) + "abc", "it ends too early");
    row("cut", leaf(array("w")).chopped(1), "it ends before its values do");
    row("more behind it", leaf(array("w")) + 'x', "it goes on behind its end");
    row("keys that fall", leaf({{"b", "1"}, {"a", "2"}}), "its keys are not in order");
    row("a key twice", leaf({{"a", "1"}, {"a", "2"}}), "its keys are not in order");
    row("a key that shares more than there was",
        none + varint(2) + varint(5) + varint(1) + varint(1) + "ab" + varint(0) + varint(0) + QByteArray(2, '\0'),
        "shares more than the last one has");
    row("a key of 65,536 bytes", leaf({{QByteArray(65'536, 'k'), "1"}}), "a key in it is too long");
    row("a value of another kind", leaf({{"k", "1"}}).chopped(2) + '\2' + '1', "stored in a way that is not read");
    row("a value of 2^63 bytes",
        none + varint(1) + varint(1) + "k" + varint(std::uint64_t(1) << 63) + QByteArray(1, '\0'),
        "it ends before its values do");
    row("two values that overflow",
        none + varint(2) + varint(0) + varint(1) + varint(1) + "ab" + varint(~std::uint64_t(0)) + varint(2) +
            QByteArray(2, '\0') + "xx",
        "it ends before its values do");
    row("a value in a data file without a name", leaf({{"k", {}, 3, 0, 1}}), "a data file that it does not name");
    row("a value beyond its file", leaf({{"k", {}, 0, 1 << 20, 1}}), "the value of \"k\" ends beyond");
    row("a value that overflows", leaf({{"k", {}, 0, 4, ~std::uint64_t(0)}}), "the value of \"k\" ends beyond");
    row("a height where a leaf is due", inner(1, {{"k", {}, 0, 0, 18, 0}}), "its height is 1 where 0 is due");
    row("a path that shares more than there was",
        QByteArray(1, '\0') + varint(2) + varint(9) + varint(1) + varint(1) + varint(0) + varint(0) + "ab" + varint(1),
        "begins with more than the one before has");
    row("a base longer than its path", QByteArray(1, '\0') + table({{"d/0", 9}}) + varint(1), "longer than the path");
    row("a path of 5,000 bytes", leaf(array("w"), {{QByteArray(5000, 'p')}}), "too long");
    row("paths that share more than their bases",
        QByteArray(1, '\0') + varint(2) + varint(3) + varint(4) + varint(1) + varint(2) + varint(3) + "a/bc" + "d" +
            varint(1),
        "share more than their bases");
    // 4,000 paths of 4,000 bytes in 20 KB: the common part is stored once.
    QByteArray many = QByteArray(1, '\0') + varint(4'000);
    for (int i = 1; i < 4'000; ++i) many += varint(3'999);
    many += varint(4'000);
    for (int i = 1; i < 4'000; ++i) many += varint(1);
    row("paths that unpack to 16 MB", many + QByteArray(4'000, '\0') + QByteArray(8'000, 'p') + varint(1),
        "its paths of data files are too long");
}

void OcdbtBytesTest::nodes() {
    QFETCH(QByteArray, body);
    QFETCH(QString, says);
    for (const bool compress : {false, true}) {
        made_->database.data.clear();
        made_->database.compress = compress;
        made_->database.add(leaf({{"a", "1"}})); // so that the node is not the first in its file
        const auto root = made_->database.add(body);
        made_->database.save(root);
        QS_REFUSED(*made_, says);
        QVERIFY2(made_->refusal().contains(QStringLiteral("/d/0: of the B+tree node at byte %1: ").arg(root.offset)),
                 qPrintable(made_->refusal()));
    }
}

/// Every shorter body is refused. A changed byte gives an error or values, never a crash.
void OcdbtBytesTest::everyPrefixAndEveryByte() {
    const auto bytes = [](const QByteArray& of) {
        return std::as_bytes(std::span(of.constData(), std::size_t(of.size())));
    };
    const auto walk = [&](const QByteArray& body) {
        auto node = ocdbt::Node::parse(bytes(body), "base/");
        ocdbt::Entry entry;
        bool good = bool(node);
        while (good && node->next(entry)) good = entry.key.size() <= ocdbt::kMostKey;
        return good && !node->why();
    };
    const QByteArray manifest = configuration() + versions({{1}, {2, 3, 1, 4, 5}}, {{"d/0"}, {"d/1"}});
    const QList<DataFile> files = {{"d/0"}, {"e/f/0", 2}, {"e/f/1", 2}};
    const QByteArray bodies[] = {leaf({{"a", "1"}, {"ab", {}, 1, 3, 4}, {"b", ""}}, files),
                                 inner(2, {{"a", {}, 0, 1, 2, 1}, {"ab", {}, 2, 3, 4, 0}}, files)};
    QVERIFY(ocdbt::parseManifest(bytes(manifest)));
    QVERIFY(walk(bodies[0]) && walk(bodies[1]));
    for (int n = 0; n < manifest.size(); ++n)
        QVERIFY2(!ocdbt::parseManifest(bytes(manifest.left(n))), qPrintable(QString::number(n)));
    for (const auto& body : bodies)
        for (int n = 0; n < body.size(); ++n) QVERIFY2(!walk(body.left(n)), qPrintable(QString::number(n)));
    for (const auto& whole : {manifest, bodies[0], bodies[1]})
        for (int at = 0; at < whole.size(); ++at)
            for (const char value : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
                QByteArray changed = whole;
                changed[at] = value;
                const auto parsed = ocdbt::parseManifest(bytes(changed));
                QVERIFY(parsed || !parsed.error().message.empty());
                walk(changed);
            }
}

QS_TEST(OcdbtBytesTest)

#include "ocdbt_bytes_test.moc"
