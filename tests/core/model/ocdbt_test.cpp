// SPDX-License-Identifier: GPL-3.0-or-later
// Zarr arrays in OCDBT databases: those of TensorStore and Orbax must read as in TensorStore. Other databases are built
// in code.
#include "made_ocdbt.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include "core/model/ocdbt/database.h"

#include <QElapsedTimer>
#include <functional>

using namespace made_ocdbt;

class OcdbtTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { made_ = std::make_unique<Refused>(); }
    void asTensorStoreReads_data();
    void asTensorStoreReads();
    void keysAndValues_data();
    void keysAndValues();
    void everyRange();
    void theNewestVersion();
    void numberedManifests();
    void pathsOfPaths();
    void ranges();
    void namesAndFolders();
    void besideFolders();
    void notMerged();
    void manyKeys();

private:
    std::shared_ptr<const Model> open() { return opened(made_->folder.path()); }
    std::unique_ptr<Refused> made_;
};

void OcdbtTest::asTensorStoreReads_data() {
    QTest::addColumn<QString>("folder");
    for (const char* folder : {"orbax_2", "orbax_3", "step", "processes", "levels", "plain", "versions", "numbered"})
        QTest::newRow(folder) << QString::fromUtf8(folder);
}

// The hashes are of the values that TensorStore reads; see tests/data/ocdbt/README.md.
void OcdbtTest::asTensorStoreReads() {
    QFETCH(QString, folder);
    const QString path = QStringLiteral(QS_TEST_DATA "/ocdbt/") + folder;
    for (const char* access : {"map", "pread"}) {
        qputenv("QS_READ", access);
        const auto model = opened(path);
        qunsetenv("QS_READ");
        QCOMPARE(text(model->format), QStringLiteral("zarr"));
        QVERIFY2(model->warnings.empty(), model->warnings.empty() ? "" : model->warnings[0].c_str());
        compareWithSums(*model, path + QStringLiteral(".sha256"));
    }
}

void OcdbtTest::keysAndValues_data() {
    QTest::addColumn<bool>("compress");
    QTest::addColumn<bool>("outside");
    QTest::addColumn<int>("fanout");
    for (const bool compress : {false, true})
        for (const bool outside : {false, true})
            for (const int fanout : {2, 3, 7, 1000})
                QTest::addRow("%s, values %s, %d entries a node", compress ? "zstd" : "plain",
                              outside ? "outside" : "inside", fanout)
                    << compress << outside << fanout;
}

namespace {

/// Builds a tree over rows sorted by key, with `fanout` entries per node. The key of an inner entry contains the
/// longest common prefix of the child's keys.
void build(Database& database, const QList<Row>& rows, int fanout) {
    // First from the leaves up: the common prefix of a node is known once its keys are.
    const auto common = [&](int from, int to) { return shared(rows[from].key, rows[to - 1].key); };
    struct Node {
        int from, to; ///< range of rows below
        QByteArray prefix;
        std::vector<Node> children;
    };
    std::vector<Node> level;
    for (int i = 0; i < rows.size(); i += fanout) level.push_back({i, std::min(i + fanout, int(rows.size())), {}, {}});
    int height = 0;
    for (; level.size() > 1; ++height) {
        std::vector<Node> next;
        for (auto from = level.begin(); from != level.end();) {
            const auto to = from + std::min<std::ptrdiff_t>(fanout, level.end() - from);
            next.push_back({from->from, (to - 1)->to, {}, {from, to}});
            from = to;
        }
        level = std::move(next);
    }
    // Then down for the prefixes, and up again for the positions.
    const std::function<Row(Node&, int)> write = [&](Node& node, int at) -> Row {
        QList<Row> entries;
        if (at == 0) {
            for (int i = node.from; i < node.to; ++i) {
                Row row = rows[i];
                row.key = row.key.mid(node.prefix.size());
                entries.append(row);
            }
            return database.add(leaf(entries));
        }
        for (Node& child : node.children) {
            child.prefix = common(child.from, child.to);
            Row row = write(child, at - 1);
            row.key = rows[child.from].key.mid(node.prefix.size());
            row.common = int(child.prefix.size() - node.prefix.size());
            entries.append(row);
        }
        return database.add(inner(at, entries));
    };
    database.save(write(level[0], height), height);
}

} // namespace

void OcdbtTest::keysAndValues() {
    QFETCH(bool, compress);
    QFETCH(bool, outside);
    QFETCH(int, fanout);
    made_->database.compress = compress;
    std::map<QByteArray, QByteArray> wanted;
    for (int i = 0; i < 40; ++i) {
        const QByteArray name = "params.layers." + QByteArray::number(i) + ".kernel";
        wanted[name + "/.zarray"] = second("[4]", "[2]");
        wanted[name + "/0"] = QByteArray(8, char('A' + i));
        if (i % 3) wanted[name + "/1"] = QByteArray(8, char('a' + i));
    }
    wanted[""] = "the shortest key";
    wanted["nothing"] = "";
    wanted["\xff\xff"] = "not text";
    QList<Row> rows;
    for (const auto& [key, value] : wanted) rows.append(outside ? made_->database.value(key, value) : Row{key, value});
    build(made_->database, rows, fanout);
    ocdbt::Database database(made_->folder.path().toStdString(),
                             [](std::string_view key) { return key.ends_with("y"); });
    const auto good = database.open();
    QVERIFY2(good, good ? "" : good.error().message.c_str());
    QCOMPARE(database.size(), wanted.size());
    std::size_t at = 0;
    for (const auto& [key, value] : wanted) {
        QCOMPARE(QByteArray::fromStdString(std::string(database.key(at))), key);
        QCOMPARE(database.find(key.toStdString()), at);
        const auto found = database.value(at++);
        QCOMPARE(found.size, std::uint64_t(value.size()));
        QCOMPARE(bool(found.held), !outside && !value.isEmpty());
        std::vector<std::byte> bytes(std::size_t(found.size), std::byte{});
        if (found.held)
            std::copy_n(found.held->begin() + std::ptrdiff_t(found.offset), found.size, bytes.begin());
        else
            found.file->readInto(std::size_t(found.offset), bytes);
        QCOMPARE(QByteArray(reinterpret_cast<const char*>(bytes.data()), int(bytes.size())), value);
    }
    for (const char* absent : {"a", "params.layers.1", "params.layers.1.kernel/00", "\xff", "~"})
        QCOMPARE(database.find(absent), database.size());
    const auto model = open();
    QCOMPARE(model->tensors.size(), std::size_t(40));
    for (int i = 0; i < 40; ++i) {
        const auto* tensor = model->find("params.layers." + std::to_string(i) + ".kernel");
        QVERIFY(tensor);
        QCOMPARE(valuesOf(*model, *tensor), QByteArray(8, char('A' + i)) + QByteArray(8, i % 3 ? char('a' + i) : '\0'));
        QCOMPARE(tensor->derived->storedBytes(), std::uint64_t(i % 3 ? 16 : 8));
    }
}

void OcdbtTest::everyRange() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/ocdbt/levels"));
    for (const auto& tensor : model->tensors) {
        const QByteArray all = valuesOf(*model, tensor);
        const auto view = model->view(tensor);
        for (std::uint64_t begin = 0; begin < tensor.bytes; begin += 61)
            for (const std::uint64_t n : {1, 4, 40, 111}) {
                if (begin + n > tensor.bytes) continue;
                QByteArray part(int(n), 'x');
                view->readInto(begin, std::as_writable_bytes(std::span(part.data(), std::size_t(n))));
                QCOMPARE(part, all.mid(int(begin), int(n)));
            }
    }
}

/// Older versions are not read: their roots point nowhere.
void OcdbtTest::theNewestVersion() {
    const Row root = made_->database.add(leaf(array("w")));
    made_->database.save(root);
    made_->database.manifest(configuration() +
                             versions({{3, 40, 0, 1 << 20, 7}, {17, 0, 0, root.offset, root.length}}));
    QCOMPARE(open()->tensors.size(), std::size_t(1));
}

/// The manifest with the largest number is used.
void OcdbtTest::numberedManifests() {
    auto& database = made_->database;
    const Row old = database.add(leaf(array("old"))), recent = database.add(leaf(array("new")));
    database.save(old);
    database.manifest(configuration(1));
    database.manifest(configuration() + versions({{9, 0, 0, old.offset, old.length}}), "manifest.0000000000000009");
    database.manifest(configuration() + versions({{16, 0, 0, recent.offset, recent.length}}),
                      "manifest.0000000000000010");
    database.manifest("x", "manifest.0000000000000010.tmp");
    QCOMPARE(text(open()->tensors.at(0).name), QStringLiteral("new"));
}

/// Paths in the nodes of a file are relative to the base of that file.
void OcdbtTest::pathsOfPaths() {
    auto& database = made_->database;
    put(made_->folder.path(), QStringLiteral("p/q/values"), QByteArray(16, 'v'));
    // The keys of the leaf do not contain the prefix given by its parent.
    const QByteArray cut =
        wrapped(ocdbt::Kind::Node, leaf({{".zarray", second("[4]", "[4]")}, {"0", {}, 0, 0, 16}}, {{"values"}}));
    put(made_->folder.path(), QStringLiteral("p/q/low"), cut);
    const QByteArray parent =
        wrapped(ocdbt::Kind::Node, inner(1, {{"w/.zarray", {}, 0, 0, std::uint64_t(cut.size()), 2}}, {{"q/low", 2}}));
    put(made_->folder.path(), QStringLiteral("p/high"), parent);
    database.manifest(configuration() + versions({{1, 1, 0, 0, std::uint64_t(parent.size())}}, {{"p/high", 2}}));
    const auto model = open();
    QCOMPARE(valuesOf(*model, model->tensors.at(0)), QByteArray(16, 'v'));
}

/// A single uncompressed chunk is used in place, without a copy. Several keys may share a range.
void OcdbtTest::ranges() {
    auto& database = made_->database;
    database.value("", "before");
    const Row chunk = database.value("b/0", QByteArray(16, 'v'));
    Row again = chunk;
    again.key = "a/0";
    database.save(
        database.add(leaf({{"a/.zarray", second("[4]", "[4]")}, again, {"b/.zarray", second("[4]", "[4]")}, chunk})));
    const auto model = open();
    QCOMPARE(model->tensors.size(), std::size_t(2));
    for (const auto& tensor : model->tensors) {
        QVERIFY(!tensor.derived);
        QCOMPARE(tensor.offset, std::uint64_t(6));
        QCOMPARE(text(model->files[tensor.file].path), made_->folder.filePath(QStringLiteral("d/0")));
        QCOMPARE(valuesOf(*model, tensor), QByteArray(16, 'v'));
    }
}

void OcdbtTest::namesAndFolders() {
    // An array at the top, arrays in groups, and version 2 if there are both versions.
    auto& database = made_->database;
    database.save(database.add(leaf({{".zarray", second("[4]", "[4]")}, {"0", QByteArray(16, 'a')}})));
    QCOMPARE(text(open()->tensors.at(0).name), QFileInfo(made_->folder.path()).fileName());
    database.data.clear();
    const QByteArray group = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    database.save(database.add(leaf({{"/.zarray", second("[2]", "[2]")},
                                     {"/0", QByteArray(8, 'a')},
                                     {"g/w/.zarray", second("[4]", "[4]")},
                                     {"g/w/0", QByteArray(16, 'a')},
                                     {"g/w/zarr.json", third("[4]", "[4]", kBytes)},
                                     {"g/zarr.json", group},
                                     {"x\xff/.zarray", second("[4]", "[4]")}})));
    const auto model = open();
    QCOMPARE(model->tensors.size(), std::size_t(2));
    QCOMPARE(valuesOf(*model, *model->find("g/w")), QByteArray(16, 'a'));
    QCOMPARE(valuesOf(*model, model->tensors[model->tensors[0].name == "g/w"]), QByteArray(8, 'a'));
    QCOMPARE(model->warnings.size(), std::size_t(1));
    QVERIFY(text(model->warnings[0]).contains(QStringLiteral("its name is not text")));
}

/// Plain arrays beside a database that is broken.
void OcdbtTest::besideFolders() {
    auto& database = made_->database;
    database.save(database.add(leaf(array("w"))));
    const QString folder = made_->folder.path();
    put(folder, QStringLiteral("plain/.zarray"), second("[4]", "[4]"));
    put(folder, QStringLiteral("bad/manifest.ocdbt"), "x");
    put(folder, QStringLiteral("good/manifest.ocdbt"), bytesOf(folder + QStringLiteral("/manifest.ocdbt")));
    put(folder, QStringLiteral("good/d/0"), database.data);
    const auto model = open();
    QStringList names;
    for (const auto& tensor : model->tensors) names += text(tensor.name);
    QCOMPARE(names, (QStringList{QStringLiteral("good/w"), QStringLiteral("plain"), QStringLiteral("w")}));
    QCOMPARE(model->warnings.size(), std::size_t(1));
    QVERIFY2(text(model->warnings[0]).contains(QStringLiteral("bad/manifest.ocdbt: it has 1 bytes, too few")),
             model->warnings[0].c_str());
}

/// The databases of single processes are parts and must not be taken for the whole.
void OcdbtTest::notMerged() {
    const QString folder = made_->folder.path();
    made_->database.save(made_->database.add(leaf(array("w"))));
    QVERIFY(QDir(folder).mkdir(QStringLiteral("ocdbt.process_0")));
    for (const char* name : {"manifest.ocdbt", "d"})
        QVERIFY(QFile::rename(folder + QLatin1Char('/') + QLatin1String(name),
                              folder + QStringLiteral("/ocdbt.process_0/") + QLatin1String(name)));
    put(folder, QStringLiteral("_METADATA"), "{}");
    QS_REFUSED(*made_, QStringLiteral("the checkpoint was not finished"));
    QVERIFY(made_->refusal().startsWith(folder + QStringLiteral(" has OCDBT databases")));
    const auto part = opened(folder + QStringLiteral("/ocdbt.process_0"));
    QCOMPARE(part->warnings.size(), std::size_t(1));
    QVERIFY(text(part->warnings[0]).contains(QStringLiteral("is what one process wrote of a checkpoint")));
}

void OcdbtTest::manyKeys() {
    auto& database = made_->database;
    database.compress = true;
    QList<Row> rows;
    const int arrays = 1'000 / int(qs::test::kThinning);
    for (int i = 0; i < arrays; ++i) {
        const QByteArray name = "params.layers." + QByteArray::number(100'000 + i) + "/";
        QList<Row> chunks{{name + ".zarray", second("[396]", "[4]")}};
        for (int c = 0; c < 99; ++c) chunks.append({name + QByteArray::number(c), {}, 0, 0, 16});
        std::sort(chunks.begin(), chunks.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
        rows += chunks;
    }
    database.data = QByteArray(16, 'v');
    build(database, rows, 1'000);
    QElapsedTimer timer;
    timer.start();
    const auto model = open();
    qInfo("%d keys in %lld ms", int(rows.size()), static_cast<long long>(timer.elapsed()));
    QCOMPARE(model->tensors.size(), std::size_t(arrays));
    QCOMPARE(valuesOf(*model, model->tensors.back()), QByteArray(1584, 'v'));
    QVERIFY(timer.elapsed() < 5'000);
}

QS_TEST(OcdbtTest)
#include "ocdbt_test.moc"
