// SPDX-License-Identifier: GPL-3.0-or-later
// Chunks and shards that are broken, lead to other places, or change while they are read.
#include "made_zarr.h"
#include "tests/support/test_program.h"

#include <memory>

class ZarrRefuseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void brokenChunks_data();
    void brokenChunks();
    void brokenShards_data();
    void brokenShards();
    void linksStayInside();
    void aChunkThatIsAPipe();
    void aChangedChunkIsNoticed();
    void tooMuch();

private:
    void add(const char* name, const QByteArray& bytes) { put(folder_->path(), QString::fromUtf8(name), bytes); }
    Result<std::shared_ptr<const Model>> open() { return openModel(folder_->path().toStdString()); }
    /// The error after the values were read; empty if none.
    QString failure(const Model& model) {
        valuesOf(model, model.tensors.at(0));
        const auto same = model.unchanged(model.tensors[0]);
        return same ? QString() : text(same.error().message);
    }
    std::unique_ptr<QTemporaryDir> folder_;
};

void ZarrRefuseTest::brokenChunks_data() {
    QTest::addColumn<QByteArray>("compressor");
    QTest::addColumn<QByteArray>("chunk");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const char* id, const QByteArray& chunk, const char* says) {
        QTest::newRow(name) << (*id ? "{\"id\":\"" + QByteArray(id) + "\"}" : QByteArray("null")) << chunk
                            << QString::fromUtf8(says);
    };
    const char* size = "do not hold as many bytes as the chunk has";
    const QByteArray half(8, 'a'), whole(16, 'a'), twice(32, 'a');
    row("too few bytes", "", half, "it has 8 bytes where 16 are needed");
    row("too many bytes", "", twice, "it has 32 bytes where 16 are needed");
    row("far too many bytes", "zstd", QByteArray(100000, 'a'), "it has 100000 bytes where 16 were compressed");
    using Packer = std::pair<const char*, QByteArray (*)(const QByteArray&)>;
    for (const auto& [id, pack] : {Packer{"zstd", zstd}, Packer{"zlib", zlib}, Packer{"blosc", blosc}}) {
        const char* name = id;
        const auto named = [name](const char* what) { return QByteArray(name) + ": " + what; };
        row(named("noise"), id, QByteArray(40, '\x5a'), "are broken");
        row(named("nothing"), id, {}, "data");
        row(named("cut"), id, pack(whole).chopped(3), "data");
        row(named("half"), id, pack(half), size);
        row(named("twice"), id, pack(twice), size);
        row(named("a bomb"), id, pack(QByteArray(1 << 22, '\0')).left(60000), "data");
    }
    row("zlib: more behind it", "zlib", zlib(whole) + "more", size);
    row("gzip that is zstd", "gzip", zstd(whole), "are broken");
}

void ZarrRefuseTest::brokenChunks() {
    QFETCH(QByteArray, compressor);
    QFETCH(QByteArray, chunk);
    QFETCH(QString, says);
    add("w/.zarray", second("[4]", "[4]", compressor));
    add("w/0", chunk);
    add(".zgroup", "{}");
    const auto model = open();
    const QString why = model ? failure(**model) : text(model.error().message);
    QVERIFY2(why.contains(says) && why.endsWith(u'.'), qPrintable(why));
    // If a chunk cannot be decoded, no zeros are written instead.
    if (const auto again = open()) {
        const auto copy = copyOf(**again, (*again)->tensors.at(0));
        QVERIFY(copy && !copy->produce([](std::span<const std::byte>) { return Result<void>(); }));
    }
}

void ZarrRefuseTest::brokenShards_data() {
    QTest::addColumn<QByteArray>("shard");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& shard, const char* says) {
        QTest::newRow(name) << shard << QString::fromUtf8(says);
    };
    const QByteArray data(16, 'a'), none = le(~std::uint64_t(0)) + le(~std::uint64_t(0));
    const auto shard = [&](const QByteArray& index) { return data + index + sum(index); };
    row("good", shard(le(0) + le(8) + le(8) + le(8)), "");
    row("a chunk is missing", shard(le(0) + le(8) + none), "");
    row("chunks may overlap", shard(le(0) + le(8) + le(0) + le(8)), "");
    row("shorter than its index", QByteArray(35, '\0'), "fewer than its index of 36");
    row("another check sum", data + le(0) + le(8) + le(8) + le(8) + le(0, 4), "the check sum of its index");
    row("a chunk beyond the end", shard(le(0) + le(8) + le(8) + le(1000)), "beyond its end");
    row("an offset that overflows", shard(le(~std::uint64_t(0) - 4) + le(8) + le(8) + le(8)), "beyond its end");
    row("a size that overflows", shard(le(8) + le(~std::uint64_t(0)) + le(8) + le(8)), "beyond its end");
    row("a chunk of another size", shard(le(0) + le(8) + le(8) + le(4)), "it has 4 bytes where 8 are needed");
}

void ZarrRefuseTest::brokenShards() {
    QFETCH(QByteArray, shard);
    QFETCH(QString, says);
    add("w/zarr.json", third("[4]", "[4]", kShard));
    add("w/c/0", shard);
    add("zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\"}");
    const auto model = open();
    const QString why = model ? failure(**model) : text(model.error().message);
    if (says.isEmpty())
        QVERIFY2(why.isEmpty(), qPrintable(why));
    else
        QVERIFY2(why.contains(says) && why.endsWith(u'.'), qPrintable(why));
}

void ZarrRefuseTest::linksStayInside() {
    QTemporaryDir other;
    put(other.path(), QStringLiteral("0"), zeros(16));
    add("w/.zarray", second("[4]", "[4]"));
    add(".zgroup", "{}");
    QVERIFY(QFile::link(other.filePath(QStringLiteral("0")), folder_->filePath(QStringLiteral("w/0"))));
    const auto model = open();
    QVERIFY(!model);
    QVERIFY2(text(model.error().message).contains(QStringLiteral("is a symlink out of the model's folder")),
             model.error().message.c_str());
    // Folders that are symbolic links are not followed, so a link to a parent does not loop.
    QFile::remove(folder_->filePath(QStringLiteral("w/0")));
    QVERIFY(QFile::link(QStringLiteral(".."), folder_->filePath(QStringLiteral("w/again"))));
    QVERIFY(QFile::link(QStringLiteral("."), folder_->filePath(QStringLiteral("again"))));
    const auto looped = open();
    QVERIFY(looped && (*looped)->tensors.size() == 1);
}

// Must not be opened or waited for.
void ZarrRefuseTest::aChunkThatIsAPipe() {
    add("w/.zarray", second("[4]", "[4]"));
    add(".zgroup", "{}");
    QCOMPARE(::mkfifo(folder_->filePath(QStringLiteral("w/0")).toLocal8Bit().constData(), 0600), 0);
    const auto model = open();
    QVERIFY(!model && text(model.error().message).contains(QStringLiteral("is no regular file")));
}

void ZarrRefuseTest::aChangedChunkIsNoticed() {
    add("w/.zarray", second("[4]", "[2]"));
    add("w/0", QByteArray(8, 'a'));
    add("w/1", QByteArray(8, 'b'));
    add(".zgroup", "{}");
    const auto model = open();
    QVERIFY(model);
    QCOMPARE(valuesOf(**model, (*model)->tensors[0]), QByteArray(8, 'a') + QByteArray(8, 'b'));
    QCOMPARE((*model)->tensors[0].derived->storedBytes(), std::uint64_t(16));
    add("w/1", "cut");
    QVERIFY(!(*model)->view((*model)->tensors[0]));
}

void ZarrRefuseTest::tooMuch() {
    add(".zgroup", "{}");
    add("a/b/c/d/e/f/g/h/i/.zarray", second("[4]", "[4]"));
    const auto deep = open();
    QVERIFY(!deep && text(deep.error().message).contains(QStringLiteral("more than 8 folders deep")));
}

QS_TEST(ZarrRefuseTest)

#include "zarr_refuse_test.moc"
