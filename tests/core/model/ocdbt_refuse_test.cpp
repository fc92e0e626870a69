// SPDX-License-Identifier: GPL-3.0-or-later
// Databases that are broken, refer to other places, or need too much memory.
#include "made_ocdbt.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <memory>

using namespace made_ocdbt;

class OcdbtRefuseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { made_ = std::make_unique<Refused>(); }
    void trees();
    void dataFiles_data();
    void dataFiles();
    void linksStayInside();
    void aDataFileThatIsAPipe();
    void numbered_data();
    void numbered();
    void aNodeThatIsMetTooOften();
    void bombs_data();
    void bombs();
    void aChangedDataFileIsNoticed();
    void brokenChunks();

private:
    std::unique_ptr<Refused> made_;
};

void OcdbtRefuseTest::trees() {
    const auto tree = [&](const QList<Row>& first, const QList<Row>& next, QList<Row> children, int height = 1) {
        made_->database.data.clear();
        const Row one = made_->database.add(leaf(first)), two = made_->database.add(leaf(next));
        for (auto& child : children) {
            const Row& place = child.offset == 0 ? one : two;
            child.offset = place.offset, child.length = place.length;
        }
        made_->database.save(made_->database.add(inner(height, children)), height);
    };
    const QList<Row> a = {{"a", "1"}, {"c", "2"}}, d = {{"d", "1"}, {"e", "2"}};
    tree(a, d, {{"a", {}, 0, 0, 0, 0}, {"d", {}, 0, 1, 0, 0}});
    QS_REFUSED(*made_, QStringLiteral("holds no zarr array")); // a correct one
    tree(a, d, {{"b", {}, 0, 0, 0, 0}, {"d", {}, 0, 1, 0, 0}});
    QS_REFUSED(*made_, QStringLiteral("a key in it is less than its parent says"));
    tree(a, d, {{"a", {}, 0, 0, 0, 0}, {"b", {}, 0, 1, 0, 0}});
    QS_REFUSED(*made_, QStringLiteral("a key in it belongs to the next node"));
    tree(a, d, {{"a", {}, 0, 0, 0, 0}, {"a", {}, 0, 0, 0, 0}});
    QS_REFUSED(*made_, QStringLiteral("its keys are not in order"));
    tree(a, d, {{"a", {}, 0, 0, 0, 2}, {"d", {}, 0, 1, 0, 0}});
    QS_REFUSED(*made_, QStringLiteral("what the keys of a child share is longer than its first key"));
    tree(a, d, {{"a", {}, 0, 0, 0, 0}, {"d", {}, 9, 1, 0, 0}});
    QS_REFUSED(*made_, QStringLiteral("a data file that it does not name"));
    tree(a, d, {{"a", {}, 0, 0, 0, 0}, {"d", {}, 0, 1, 0, 0}}, 2);
    QS_REFUSED(*made_, QStringLiteral("its height is 0 where 1 is due"));
    // A node that is its own child: the height does not fit.
    const QByteArray self = inner(1, {{"a", {}, 0, 0, 0, 0}});
    for (int guess = self.size() + 18; guess < self.size() + 30; ++guess) {
        made_->database.data.clear();
        const Row root = made_->database.add(inner(1, {{"a", {}, 0, 0, std::uint64_t(guess), 0}}));
        if (root.length != std::uint64_t(guess)) continue;
        made_->database.save(root, 1);
        QS_REFUSED(*made_, QStringLiteral("its height is 1 where 0 is due"));
        return;
    }
    QFAIL("no node names its own length");
}

void OcdbtRefuseTest::dataFiles_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& path, const char* says) {
        QTest::newRow(name) << path << QString::fromUtf8(says);
    };
    row("missing", "d/1", "the data file \"d/1\" is missing");
    row("no name", "", "its name is empty");
    row("absolute", "/etc/passwd", "its name is an absolute path");
    row("above", "../secret", "leads out of the folder");
    row("above, in the middle", "d/../../secret", "leads out of the folder");
    row("with a NUL", QByteArray("d/0\0x", 5), "holds a NUL");
    row("a folder", "d", "it is no regular file");
    row("a Git LFS pointer", "pointer", "is a Git LFS pointer");
}

void OcdbtRefuseTest::dataFiles() {
    QFETCH(QByteArray, path);
    QFETCH(QString, says);
    put(made_->folder.path(), QStringLiteral("pointer"),
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 16\n");
    // The path of a value, of a node and of the root.
    made_->database.save(made_->database.add(leaf({{"k", {}, 0, 0, 1}}, {{path}})));
    QS_REFUSED(*made_, says);
    made_->database.save(made_->database.add(inner(1, {{"k", {}, 0, 0, 18, 0}}, {{path}})), 1);
    QS_REFUSED(*made_, says);
    made_->database.manifest(configuration() + versions({{1, 0, 0, 0, 18}}, {{path}}));
    QS_REFUSED(*made_, says);
}

void OcdbtRefuseTest::linksStayInside() {
    QTemporaryDir other;
    put(other.path(), QStringLiteral("1"), zeros(16));
    QDir(made_->folder.path()).mkdir(QStringLiteral("d"));
    QVERIFY(QFile::link(other.filePath(QStringLiteral("1")), made_->folder.filePath(QStringLiteral("d/1"))));
    QVERIFY(QFile::link(other.path(), made_->folder.filePath(QStringLiteral("e"))));
    made_->database.save(made_->database.add(leaf({{"k", {}, 0, 0, 1}}, {{"d/1"}})));
    QS_REFUSED(*made_, QStringLiteral("is a symlink out of the model's folder"));
    made_->database.save(made_->database.add(leaf({{"k", {}, 0, 0, 1}}, {{"e/1"}})));
    QS_REFUSED(*made_, QStringLiteral("through a symlink"));
}

// Must not be opened or waited for.
void OcdbtRefuseTest::aDataFileThatIsAPipe() {
    made_->database.save(made_->database.add(leaf({{"k", {}, 0, 0, 1}}, {{"d/1"}})));
    QCOMPARE(::mkfifo(made_->folder.filePath(QStringLiteral("d/1")).toLocal8Bit().constData(), 0600), 0);
    QS_REFUSED(*made_, QStringLiteral("it is no regular file"));
}

void OcdbtRefuseTest::numbered_data() {
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* what, const char* name, const QByteArray& body, const char* says) {
        QTest::newRow(what) << QByteArray(name) << body << QString::fromUtf8(says);
    };
    const QByteArray good = configuration() + versions({{26, 0, 0, 0, 0}});
    row("none", "manifest.1a", good, "keeps numbered manifests, and there is none");
    row("capitals", "manifest.000000000000001A", good, "and there is none");
    row("of another database", "manifest.000000000000001a", configuration(0, QByteArray(16, 'j')) + versions({{26}}),
        "it is of another database");
    row("another number", "manifest.000000000000001b", good, "is not the one that it is named after");
    row("numbered itself", "manifest.000000000000001a", configuration(1), "of which it is one");
    row("broken", "manifest.000000000000001a", "x", "it ends too early");
}

void OcdbtRefuseTest::numbered() {
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, body);
    QFETCH(QString, says);
    made_->database.manifest(configuration(1));
    made_->database.manifest(body, name.constData());
    QS_REFUSED(*made_, says);
    made_->database.manifest(configuration(1) + "more");
    QS_REFUSED(*made_, QStringLiteral("it goes on behind its end"));
}

/// Every node refers twice to the next: 40 nodes stand for 10^12 leaves.
void OcdbtRefuseTest::aNodeThatIsMetTooOften() {
    Row node = made_->database.add(leaf({{"", "x"}}));
    for (int height = 1; height <= 40; ++height) {
        Row left = node, right = node;
        left.key = "a", right.key = "b", left.common = right.common = 1;
        node = made_->database.add(inner(height, {left, right}));
    }
    made_->database.save(node, 40);
    QElapsedTimer timer;
    timer.start();
    const QString why = made_->refusal();
    QVERIFY2(why.contains(QStringLiteral("unpack to more than")) ||
                 why.contains(QStringLiteral("takes more memory than")),
             qPrintable(why));
    QVERIFY2(timer.elapsed() < 60'000, qPrintable(QString::number(timer.elapsed())));
}

void OcdbtRefuseTest::bombs_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("says");
    // 20,000 keys of 60,000 bytes that differ only at the end.
    QByteArray prefixes, suffixes, text, lengths(20'000, '\1');
    for (int i = 0; i < 20'000; ++i) {
        if (i > 0) prefixes += varint(60'000);
        suffixes += varint(i == 0 ? 60'006 : 6);
        text += (i == 0 ? QByteArray(60'000, 'k') : QByteArray()) + QByteArray::number(100'000 + i);
    }
    QTest::newRow("keys that share their beginnings")
        << QByteArray(1, '\0') + table({{}}) + varint(20'000) + prefixes + suffixes + text + lengths +
               QByteArray(20'000, '\0') + QByteArray(20'000, 'v')
        << QStringLiteral("the list of its keys takes more memory than");
    // Arrays without chunks, whose descriptions compress to nothing.
    QList<Row> arrays;
    for (int i = 0; i < 70'000; ++i)
        arrays.append({QByteArray::number(1'000'000 + i) + "/.zarray", second("[1]", "[1]")});
    QTest::newRow("70,000 arrays in a node of some KB")
        << leaf(arrays) << QStringLiteral("its list of arrays takes more memory than");
}

void OcdbtRefuseTest::bombs() {
    QFETCH(QByteArray, body);
    QFETCH(QString, says);
    made_->database.compress = true;
    made_->database.save(made_->database.add(body));
    QS_REFUSED(*made_, says);
}

void OcdbtRefuseTest::aChangedDataFileIsNoticed() {
    const auto chunk = made_->database.value("w/0", QByteArray(16, 'b'));
    made_->database.save(made_->database.add(leaf({{"w/.zarray", second("[4]", "[4]")}, chunk})));
    const auto model = openModel(made_->folder.path().toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE(valuesOf(**model, (*model)->tensors.at(0)), QByteArray(16, 'b'));
    put(made_->folder.path(), QStringLiteral("d/0"), made_->database.data + "more");
    QVERIFY(!(*model)->view((*model)->tensors[0]));
}

/// Chunks with wrong contents, inside a node and in a data file.
void OcdbtRefuseTest::brokenChunks() {
    const QByteArray about = second("[4]", "[4]", "{\"id\":\"zstd\"}");
    for (const bool inside : {true, false}) {
        made_->database.data.clear();
        Row chunk = inside ? Row{"w/0", QByteArray(20, 'x')} : made_->database.value("w/0", QByteArray(20, 'x'));
        made_->database.save(made_->database.add(leaf({{"w/.zarray", about}, chunk})));
        const auto model = openModel(made_->folder.path().toStdString());
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        const auto& tensor = (*model)->tensors.at(0);
        valuesOf(**model, tensor);
        const auto same = (*model)->unchanged(tensor);
        QVERIFY(!same);
        const QString why = text(same.error().message);
        QVERIFY2(why.contains(inside ? QStringLiteral("/d/0: of the chunk 0: ")
                                     : QStringLiteral("/d/0: of the chunk 0 at byte 0: ")) &&
                     why.contains(QStringLiteral("are broken")),
                 qPrintable(why));
    }
    // A chunk of the wrong size is noticed before it is read.
    made_->database.save(made_->database.add(leaf(array("w", "short"))));
    QS_REFUSED(*made_, QStringLiteral("it has 5 bytes where 16 are needed"));
}

QS_TEST(OcdbtRefuseTest)

#include "ocdbt_refuse_test.moc"
