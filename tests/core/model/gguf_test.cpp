// SPDX-License-Identifier: GPL-3.0-or-later
// Faults of a GGUF file, withTensor per row, and unusual files that must open. gguf_split_test.cpp tests models in parts.
#include "core/model/gguf/gguf.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "made_gguf.h"
#include "tests/support/test_program.h"

#include <set>

using namespace qs;

class GgufTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void lies_data();
    void lies();
    void opens_data();
    void opens();
    void everyPrefixOfAFile();
    void aHeaderReadPieceByPiece();
    void everyTypeIsListed();
    void anUnknownTypeIsListed();
    void aBadEntryIsListed();
    void metadataInWords();
    void theReferencesFiles();
    void cutWhileOpen();
    void aDirectory();
    void insideAFolder();

private:
    QString put(const QString& name, const QByteArray& bytes) { return ::put(folder_->path(), name, bytes); }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

constexpr auto kData = QS_TEST_DATA "/gguf/";

QByteArray withTensor(const MadeTensor& tensor, int data = 128) {
    MadeGguf file = smallGguf();
    file.tensors = {tensor};
    file.data = zeros(data);
    return file.bytes();
}

QByteArray withKeys(const std::vector<QByteArray>& keys, std::optional<std::uint64_t> count = {}) {
    MadeGguf file = smallGguf();
    file.keys = keys;
    file.keyCount = count;
    return file.bytes();
}

/// A file with these raw bytes in place of a tensor entry.
QByteArray oneRaw(const QByteArray& entry) {
    MadeGguf file = smallGguf();
    file.tensors.clear();
    file.keys.push_back(entry);
    file.keyCount = 1, file.tensorCount = 1;
    return file.bytes();
}

QByteArray aligned(std::int64_t said, std::int64_t real, std::uint32_t kind = U32) {
    MadeGguf file = smallGguf();
    file.keys.push_back(
        kv("general.alignment", kind, kind == U32 ? u32(std::uint32_t(said)) : u64(std::uint64_t(said))));
    file.alignment = real;
    MadeTensor second;
    second.name = "v";
    second.dims = {3};
    file.tensors = {second, MadeTensor{}};
    file.tensors[1].offset = std::uint64_t(real);
    file.data = zeros(int(real) + 128);
    return file.bytes();
}

} // namespace

void GgufTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const QByteArray& says) {
        QTest::newRow(name) << bytes << says;
    };
    const auto changed = [](auto change) {
        MadeGguf file = smallGguf();
        change(file);
        return file.bytes();
    };
    const auto version = [&](std::uint32_t v) { return changed([v](MadeGguf& f) { f.version = v; }); };
    row("bad magic", "GGUX" + smallGguf().bytes().mid(4), "does not begin with GGUF");
    row("magic alone", "GGUF", "4 bytes are too few");
    row("version 0", version(0), "version 0");
    row("version 1", version(1), "version 1");
    row("future version", version(4), "version 4 of GGUF is not read, only 2 and 3");
    row("the other byte order", version(0x03000000), "byte order of big-endian machines");
    row("2^64-1 tensors", changed([](MadeGguf& f) { f.tensorCount = ~0ull; }),
        "18446744073709551615 tensors do not fit");
    row("2^64-1 keys", changed([](MadeGguf& f) { f.keyCount = ~0ull; }), "18446744073709551615 keys do not fit");
    row("more tensors than any model has", "GGUF" + u32(3) + u64(300'000) + u64(0) + zeros(24 * 300'000),
        "over the limit of 262144");
    row("key of 2^64-1 bytes", withKeys({u64(~0ull) + "key"}), "a string of 18446744073709551615 bytes");
    row("empty key", withKeys({kv("", U8, "\1")}), "a key has no name");
    row("key with a NUL", withKeys({kv(QByteArray("a\0b", 3), U8, "\1")}), "is not text");
    row("key not UTF-8", withKeys({kv("a\xff", U8, "\1")}), "is not text");
    row("duplicate key", withKeys({kv("k", U8, "\1"), kv("k", U8, "\1")}), "key \"k\" is there twice");
    row("value type 13", withKeys({kv("k", 13, zeros(8))}), "key \"k\": value type 13");
    row("value type 2^32-1", withKeys({kv("k", ~0u, zeros(8))}), "value type 4294967295");
    row("array of type 13", withKeys({kv("k", Array, array(13, 1, zeros(8)))}), "value type 13");
    row("nested array", withKeys({kv("k", Array, array(Array, 1, array(U8, 1, "\1")))}), "an array holds arrays");
    row("array of 2^63", withKeys({kv("k", Array, array(U8, 1ull << 63, "\1"))}),
        "an array of 9223372036854775808 items is over the limit");
    row("array longer than the file", withKeys({kv("k", Array, array(F64, 1000, zeros(8)))}),
        "an array of 1000 items does not fit");
    row("array whose size overflows", withKeys({kv("k", Array, array(U64, (1ull << 61) + 1, zeros(8)))}),
        "over the limit");
    row("array of 2^30 strings", withKeys({kv("k", Array, array(String, 1u << 30, str("a")))}), "does not fit");
    row("string longer than the file", withKeys({kv("k", String, u64(1000) + "abc")}),
        "key \"k\": a string of 1000 bytes does not fit");
    row("string of 2^63", withKeys({kv("k", String, u64(1ull << 63) + "abc")}), "over the limit");
    row("string in an array longer than the file", withKeys({kv("k", Array, array(String, 2, str("a") + u64(999)))}),
        "a string of 999 bytes does not fit");
    row("bool 2", withKeys({kv("k", Bool, "\2")}), "a bool is 2");
    row("bool 2 far in an array", withKeys({kv("k", Array, array(Bool, 40, QByteArray(39, '\1') + "\2"))}),
        "a bool is 2");
    row("alignment 13", aligned(13, 32), "general.alignment is 13, not a power of two");
    row("alignment 0", aligned(0, 32), "general.alignment is 0, not a power of two");
    row("alignment of the wrong type", aligned(32, 32, U64), "general.alignment is u64, not u32");
    row("alignment that the data does not have", aligned(64, 32), "begin at 32 where 64 is expected (alignment 64)");
    row("name of 65,536 bytes", withTensor({QByteArray(65536, 'n')}), "65536 bytes, more than 65535");
    row("name of 2^64-1 bytes", oneRaw(u64(~0ull)), "a string of 18446744073709551615 bytes");
    row("name with a NUL", withTensor({QByteArray("a\0b", 3)}), "its name is not text");
    row("name not UTF-8", withTensor({"\xc3"}), "its name is not text");
    row("duplicate tensor", changed([](MadeGguf& f) {
            f.tensors.push_back(f.tensors[0]);
            f.tensors[1].offset = 128, f.data = zeros(256);
        }),
        "tensor \"w\" is there twice");
    row("9 dimensions", withTensor({"w", {1, 1, 1, 1, 1, 1, 1, 1, 1}}), "9 dimensions, more than 8");
    row("2^32-1 dimensions", oneRaw(str("w") + u32(~0u)), "dimensions, more than 8");
    row("negative dimension", withTensor({"w", {-1, 4}}), "dimension 0 is -1");
    row("element count overflows", withTensor({"w", {1ll << 32, 1ll << 31}}), "number of elements overflows");
    row("element count overflows beside a zero", withTensor({"w", {0, 1ll << 62, 4}}), "number of elements overflows");
    row("byte count overflows", withTensor({"w", {1ll << 60, 2}}), "number of bytes overflows");
    row("sum of sizes overflows", changed([](MadeGguf& f) {
            f.tensors[0].dims = {0x7fffffffffffffc0}, f.tensors[0].type = 24; // I8
            f.tensors.push_back(f.tensors[0]);
            f.tensors[1].name = "v", f.tensors[1].offset = 0x7fffffffffffffc0;
        }),
        "sum of all sizes overflows");
    row("offset too large", withTensor({"w", {8, 4}, 0, 32}, 256), "begin at 32 where 0 is expected");
    row("offset within the tensor before", changed([](MadeGguf& f) {
            f.tensors.push_back({"v", {8, 4}, 0, 64});
            f.data = zeros(256);
        }),
        "tensor \"v\": its data is said to begin at 64 where 128 is expected");
    row("offset 2^64-1", withTensor({"w", {8, 4}, 0, ~0ull}), "begin at 18446744073709551615");
    row("not enough data", withTensor({"w", {8, 4}}, 127), "tensor \"w\": its data is cut short");
    row("no data", withTensor({"w", {8, 4}}, 0), "tensor \"w\": its data is cut short");
    row("tokenizer scores narrower than expected",
        withKeys({kv("tokenizer.ggml.tokens", Array, array(String, 1, str("a"))),
                  kv("tokenizer.ggml.scores", Array, array(U8, 1, "\1"))}),
        "tokenizer.ggml.scores is an array of u8, not an array of f32");
    row("tokenizer types narrower than expected",
        withKeys({kv("tokenizer.ggml.token_type", Array, array(I8, 1, "\1"))}),
        "is an array of i8, not an array of i32");
    row("tokenizer scores fewer than tokens",
        withKeys({kv("tokenizer.ggml.scores", Array, array(F32, 1, zeros(4))),
                  kv("tokenizer.ggml.tokens", Array, array(String, 2, str("a") + str("b")))}),
        "tokenizer.ggml.scores has 1 items for 2 tokens");
    row("tokens that are no strings", withKeys({kv("tokenizer.ggml.tokens", Array, array(U32, 1, zeros(4)))}),
        "is an array of u32, not an array of string");
    row("absurd block_count", withKeys({kv("llama.block_count", U32, u32(~0u))}), "says 4294967295 layers");
    row("negative block_count", withKeys({kv("llama.block_count", I32, u32(~0u))}),
        "llama.block_count is i32, not a number of layers");
    row("part beyond the last",
        withKeys({kv("split.no", U16, le<std::uint16_t>(3)), kv("split.count", U16, le<std::uint16_t>(3))}),
        "split.no is 3 of 3");
    row("split.count of the wrong type", withKeys({kv("split.count", String, str("3"))}), "split.count is string");
}

void GgufTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    const std::vector<char> copy(bytes.begin(), bytes.end()); // exact size, so that the sanitizer finds a read beyond
                                                              // it
    const auto parsed = parseGgufHeader(std::as_bytes(std::span(copy)), copy.size(), "file");
    QVERIFY(!parsed);
    const QString path = put(QStringLiteral("model.gguf"), bytes);
    const auto opened = openModel(path.toStdString());
    QVERIFY(!opened);
    const auto message = QByteArray::fromStdString(opened.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path.toUtf8()) && message.endsWith('.'), message);
}

void GgufTest::opens_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<int>("tensors");
    QTest::addColumn<int>("warnings");
    const auto row = [](const char* name, const MadeGguf& file, int tensors, int warnings = 0) {
        QTest::newRow(name) << file.bytes() << tensors << warnings;
    };
    MadeGguf file = smallGguf();
    row("one tensor", file, 1);
    file.version = 2;
    row("version 2", file, 1);
    file = smallGguf(), file.tensors.clear(), file.data.clear();
    row("no tensors", file, 0);
    QTest::newRow("nothing at all") << QByteArray("GGUF" + u32(3) + u64(0) + u64(0)) << 0 << 0;
    QTest::newRow("no tensors and no padding")
        << QByteArray("GGUF" + u32(3) + u64(0) + u64(1) + kv("k", U8, "\1")) << 0 << 0;
    file = smallGguf(), file.tensors = {{"w", {0, 4}}}, file.data.clear();
    row("zero dimension", file, 1);
    file.tensors = {{"a", {256, 0}, 12}, {"b", {0}, 12}, {"w", {8, 4}}}, file.data = zeros(128);
    row("empty packed tensors share an offset", file, 3);
    file = smallGguf(), file.tensors = {{"w", {}}}, file.data = zeros(4);
    row("scalar without padding after it", file, 1);
    file = smallGguf(), file.tensors[0].name = QByteArray(63, 'n');
    row("name of 63 bytes", file, 1);
    file.tensors[0].name = QByteArray(76, 'n'); // as stable-diffusion.cpp and ComfyUI-GGUF write them
    row("name of 76 bytes", file, 1);
    file = smallGguf(), file.tensors[0].name = "v", file.tensors[0].dims = {2, 2, 2, 2, 2};
    row("5 dimensions", file, 1);
    for (const std::uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 139u, ~0u}) {
        file = smallGguf(), file.tensors[0].type = type;
        row(("tensor type " + QByteArray::number(type)).constData(), file, 1, 1);
    }
    file = smallGguf();
    file.tensors[0].name = "☃\x1b[31m";
    row("any text as a name", file, 1);
    file.tensors[0].name = "";
    row("no name", file, 1);
    file = smallGguf(), file.data += zeros(7);
    row("bytes after the last tensor", file, 1, 1);
    QTest::newRow("alignment 16") << aligned(16, 16) << 2 << 0;
    QTest::newRow("alignment 64") << aligned(64, 64) << 2 << 0;
    QTest::newRow("alignment 4096") << aligned(4096, 4096) << 2 << 0;
    file = smallGguf(), file.keys.push_back(kv("k", Array, array(String, 0, {})));
    row("empty array", file, 1);
    file.keys.back() = kv("k", String, str("\xff\xfe raw bytes"));
    row("string that is not UTF-8", file, 1);
    file.keys.back() = kv(QByteArray(65535, 'k'), U8, "\1");
    row("key of 65,535 bytes", file, 1);
}

void GgufTest::opens() {
    QFETCH(QByteArray, bytes);
    QFETCH(int, tensors);
    QFETCH(int, warnings);
    const auto opened = openModel(put(QStringLiteral("model.gguf"), bytes).toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QCOMPARE(text((*opened)->format), QStringLiteral("gguf"));
    QCOMPARE(int((*opened)->tensors.size()), tensors);
    QCOMPARE(int((*opened)->warnings.size()), warnings);
    for (const auto& tensor : (*opened)->tensors) QVERIFY((*opened)->view(tensor));
    if (const auto* w = (*opened)->find("w"); w && w->elements == 32)
        QCOMPARE(w->shape, (std::vector<std::int64_t>{4, 8}));
}

// No prefix of a file opens or crashes. With the length of the whole file given, a prefix of the header asks for more
// bytes.
void GgufTest::everyPrefixOfAFile() {
    const QByteArray whole = bytesOf(QString::fromUtf8(kData) + QStringLiteral("aligned.gguf"));
    const auto parse = [](const QByteArray& bytes, std::uint64_t size) {
        const std::vector<char> copy(bytes.begin(), bytes.end());
        return parseGgufHeader(std::as_bytes(std::span(copy)), size, "prefix");
    };
    const auto all = std::uint64_t(whole.size());
    QVERIFY(parse(whole, all));
    const auto headerEnd = 24 + 200; // somewhere before the end of the header
    for (int n = 0; n < whole.size(); ++n) {
        const auto cut = parse(whole.left(n), std::uint64_t(n));
        // After byte 572 only padding is missing: 3 x 5 values of F32 start at 512.
        QVERIFY2(bool(cut) == (n >= 512 + 60), QByteArray::number(n));
        if (n < headerEnd - 100) {
            const auto more = parse(whole.left(n), all);
            QVERIFY(more && more->wantsMore && more->tensors.empty());
        }
    }
}

// A file that is read instead of mapped, as on a network. The header is longer than the first read.
void GgufTest::aHeaderReadPieceByPiece() {
    MadeGguf file = smallGguf();
    file.keys.push_back(kv("long", String, str(QByteArray(3'000'000, 'x'))));
    const QString path = put(QStringLiteral("model.gguf"), file.bytes());
    qputenv("QS_READ", "pread");
    const auto opened = openModel(path.toStdString());
    qunsetenv("QS_READ");
    QVERIFY(opened);
    QVERIFY(!(*opened)->files[0].mapping->isMapped());
    QCOMPARE((*opened)->tensors.size(), 1u);
    QCOMPARE((*opened)->files[0].metadata.at("long").size(), 3'000'000u);
}

void GgufTest::everyTypeIsListed() {
    const auto model = openModel(std::string(kData) + "types.gguf");
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QVERIFY((*model)->warnings.empty());
    std::set<std::string> seen;
    for (const auto& tensor : (*model)->tensors) {
        seen.insert(tensor.typeId());
        QCOMPARE(tensor.isWeight(), tensor.shape.size() >= 2 && info(tensor.dtype).quantizable);
        if (tensor.name.starts_with("listed.")) QVERIFY(!info(tensor.dtype).quantizable && !tensor.packed->decode);
    }
    for (const auto& type : ggmlTypes()) {
        const std::string id = type.packed.id ? type.packed.id : info(type.dtype).id;
        QVERIFY2(seen.contains(id), id.c_str());
    }
    const auto* q4k = (*model)->find("weights.Q4_K");
    QVERIFY(q4k && q4k->packed);
    QCOMPARE(q4k->shape, (std::vector<std::int64_t>{2, 512}));
    QCOMPARE(q4k->bytes, 4u * 144u);
    QCOMPARE(q4k->elements, 1024u);
    QCOMPARE((*model)->find("plain.cube")->shape, (std::vector<std::int64_t>{4, 2, 128}));
}

/// A tensor of a type that no version of ggml here knows, between two others: it takes the bytes up to the next.
void GgufTest::anUnknownTypeIsListed() {
    MadeGguf file = smallGguf();
    file.tensors = {
        {"a", {8, 4}}, {"b", {256, 2}, 139, 128}, {"c", {256}, 36, 128 + 96}, {"d", {8, 4}, 0, 128 + 96 + 64}};
    file.data = zeros(128 + 96 + 64 + 128);
    const auto model = openModel(put(QStringLiteral("model.gguf"), file.bytes()).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE((*model)->tensors.size(), 4u);
    const auto* b = (*model)->find("b");
    QCOMPARE(std::string(b->typeId()), std::string("GGML_TYPE_139"));
    QCOMPARE(b->shape, (std::vector<std::int64_t>{2, 256}));
    QCOMPARE(b->bytes, 96u);
    QVERIFY(!b->isWeight());
    QCOMPARE(std::string((*model)->find("c")->typeId()), std::string("GGML_TYPE_36"));
    QCOMPARE((*model)->find("c")->bytes, 64u);
    QCOMPARE((*model)->find("d")->offset, b->offset + 96 + 64);
    QCOMPARE((*model)->warnings.size(), 2u);
    for (const auto& [at, says] : {std::pair(0, "tensor \"b\" is listed but cannot be read: type 139 is unknown"),
                                   std::pair(1, "tensor \"c\" is listed but cannot be read: type 36 is unknown")})
        QVERIFY2(text((*model)->warnings[std::size_t(at)]).contains(QString::fromUtf8(says)), says);
}

void GgufTest::aBadEntryIsListed() {
    MadeGguf file = smallGguf();
    file.tensors = {{"a", {48, 4}, 2}, {"b", {}, 12, 64}, {"c", {8, 4}, 0, 64 + 160}};
    file.data = zeros(64 + 160 + 128);
    const auto model = openModel(put(QStringLiteral("model.gguf"), file.bytes()).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE((*model)->tensors.size(), 3u);
    QCOMPARE((*model)->find("a")->bytes, 64u);
    QVERIFY(!(*model)->find("a")->isWeight() && (*model)->find("c")->isWeight());
    QVERIFY2(
        text((*model)->warnings[0]).contains(QStringLiteral("rows of 48 elements are not whole blocks of 32 (Q4_0)")),
        (*model)->warnings[0].c_str());
    // An offset before the tensor of unknown size is still a lie.
    file.tensors[2].offset = 32;
    QVERIFY(!openModel(put(QStringLiteral("model.gguf"), file.bytes()).toStdString()));
}

void GgufTest::metadataInWords() {
    const auto model = openModel(std::string(kData) + "types.gguf");
    QVERIFY(model);
    const auto& metadata = (*model)->files[0].metadata;
    const auto is = [&](const char* key, const char* value) {
        const auto at = metadata.find(key);
        return at != metadata.end() && at->second == value;
    };
    QVERIFY(is("general.architecture", "llama"));
    QVERIFY(is("test.uint8", "200") && is("test.int8", "-100") && is("test.uint16", "60000"));
    QVERIFY(is("test.int16", "-30000") && is("test.uint32", "4000000000") && is("test.int32", "-2000000000"));
    QVERIFY(is("test.uint64", "18446744073709551615") && is("test.int64", "-9223372036854775808"));
    QVERIFY(is("test.float32", "0.1") && is("test.float64", "0.1") && is("test.bool", "true"));
    QVERIFY(is("test.string", "größer ☃"));
    QVERIFY(is("test.array.uint8", "[200, 200, 200]") && is("test.array.bool", "[true, true, true]"));
    QVERIFY(metadata.at("test.array.string").ends_with("\"größer ☃\", … 12 of string in all]"));
    QVERIFY(is("tokenizer.ggml.token_type", "[1, 1, 1, 1, 1, 1, 1, 1, … 300 of i32 in all]"));
}

void GgufTest::theReferencesFiles() {
    const auto model = openModel(std::string(kData) + "aligned.gguf");
    QVERIFY(model && (*model)->warnings.empty());
    QCOMPARE((*model)->files[0].metadata.at("general.alignment"), std::string("256"));
    const auto view = (*model)->view(*(*model)->find("w1"));
    QVERIFY(view);
    float last = 0;
    std::memcpy(&last, view->bytes.data() + 4 * 14, 4);
    QCOMPARE(last, 2.0f);
}

void GgufTest::cutWhileOpen() {
    MadeGguf file = smallGguf();
    file.tensors[0].dims = {1024, 64};
    file.data = zeros(4 * 65536);
    const QString path = put(QStringLiteral("model.gguf"), file.bytes());
    const auto model = openModel(path.toStdString());
    QVERIFY(model);
    QVERIFY(QFile::resize(path, 4096));
    const auto view = (*model)->view((*model)->tensors[0]);
    QVERIFY(!view && text(view.error().message).contains(QStringLiteral("was cut from")));
}

/// A folder given as a file: by its name, and to the reader of the format.
void GgufTest::aDirectory() {
    QVERIFY(QDir(folder_->path()).mkdir(QStringLiteral("folder.gguf")));
    const auto path = folder_->filePath(QStringLiteral("folder.gguf")).toStdString();
    const auto opened = openModel(path);
    QVERIFY(!opened && text(opened.error().message).contains(QStringLiteral("holds no safetensors file")));
    const auto asFile = openGguf(path);
    QVERIFY(!asFile);
    QVERIFY2(text(asFile.error().message).endsWith(QStringLiteral("is a folder, not a regular file.")),
             asFile.error().message.c_str());
}

void GgufTest::insideAFolder() {
    put(QStringLiteral("model-q4.gguf"), smallGguf().bytes());
    const auto opened = openModel(folder_->path().toStdString());
    QVERIFY(!opened);
    QVERIFY(text(opened.error().message).endsWith(QStringLiteral("open %1/model-q4.gguf in it.").arg(folder_->path())));
}

QS_TEST(GgufTest)
#include "gguf_test.moc"
