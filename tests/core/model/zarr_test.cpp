// SPDX-License-Identifier: GPL-3.0-or-later
// Folders of zarr arrays: they must read as in TensorStore; and faulty folders.
#include "made_zarr.h"
#include "tests/support/test_program.h"

class ZarrTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void asTensorStoreReads_data();
    void asTensorStoreReads();
    void everyRange();
    void fillValues_data();
    void fillValues();
    void isNotRead_data();
    void isNotRead();
    void narrowIntegers();
    void groupsAndNames();
    void checkSum();

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

void ZarrTest::asTensorStoreReads_data() {
    QTest::addColumn<QString>("folder");
    QTest::newRow("Orbax, zarr 2") << QStringLiteral("orbax_2");
    QTest::newRow("Orbax, zarr 3 in shards") << QStringLiteral("orbax_3");
    QTest::newRow("codecs, orders, edges, fill values, names") << QStringLiteral("arrays");
}

// The hashes are of the values that TensorStore reads; see tests/data/zarr/README.md.
void ZarrTest::asTensorStoreReads() {
    QFETCH(QString, folder);
    for (const char* access : {"map", "pread"}) {
        qputenv("QS_READ", access);
        const auto model = opened(QStringLiteral(QS_TEST_DATA "/zarr/") + folder);
        qunsetenv("QS_READ");
        QCOMPARE(text(model->format), QStringLiteral("zarr"));
        QVERIFY2(model->warnings.empty(), model->warnings.empty() ? "" : model->warnings[0].c_str());
        compareWithSums(*model, QStringLiteral(QS_TEST_DATA "/zarr/") + folder + QStringLiteral(".sha256"));
    }
}

void ZarrTest::everyRange() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/zarr/arrays"));
    for (const auto& tensor : model->tensors) {
        const QByteArray all = valuesOf(*model, tensor);
        const auto view = model->view(tensor);
        for (std::uint64_t begin = 0; begin < tensor.bytes; begin += 23)
            for (const std::uint64_t n : {1, 4, 40, 111}) {
                if (begin + n > tensor.bytes) continue;
                QByteArray part(int(n), 'x');
                view->readInto(begin, std::as_writable_bytes(std::span(part.data(), std::size_t(n))));
                QCOMPARE(part, all.mid(int(begin), int(n)));
            }
        if (tensor.derived) tensor.derived->release();
        QCOMPARE(valuesOf(*model, tensor), all);
    }
    QVERIFY(!model->find("v2/whole")->derived); // a single chunk is the tensor itself
    QCOMPARE(text(model->find("v3/shards")->derived->description()),
             QStringLiteral("zarr 3, chunks of [2, 3, 2], zstd, in shards"));
}

void ZarrTest::fillValues_data() {
    QTest::addColumn<QByteArray>("dtype");
    QTest::addColumn<QByteArray>("fill");
    QTest::addColumn<QByteArray>("bytes"); // none: refused
    const auto row = [](const char* dtype, const char* fill, const char* hex) {
        QTest::newRow(qPrintable(QStringLiteral("%1 %2").arg(QString::fromUtf8(dtype), QString::fromUtf8(fill))))
            << QByteArray(dtype) << QByteArray(fill) << QByteArray::fromHex(hex);
    };
    row("<f4", "1.5", "0000c03f");
    row("<f4", "\"NaN\"", "0000c07f");
    row("<f4", "\"-Infinity\"", "000080ff");
    row("<f4", "\"0x7fc00001\"", "0100c07f");
    row("<f4", "null", "00000000");
    row("<f2", "1", "003c");
    row("bfloat16", "1", "803f");
    row("<f8", "1", "000000000000f03f");
    row("<i8", "-2", "feffffffffffffff");
    row("<u8", "18446744073709551615", "ffffffffffffffff");
    row("|b1", "true", "01");
    row("|i1", "0", "00");
    row("<c8", "[1.5,-2]", "0000c03f000000c0");
    row("<c8", "[\"NaN\",0]", "0000c07f00000000");
    row("<c8", "[1,2,3]", "");
    row("<f4", "\"one\"", "");
    row("<f4", "\"0x7fc000011\"", "");
    row("<i4", "1.5", "");
    row("|b1", "2", "");
    row("<f4", "[1]", "");
    row("float8_e4m3fn", "1", "");
}

void ZarrTest::fillValues() {
    QFETCH(QByteArray, dtype);
    QFETCH(QByteArray, fill);
    QFETCH(QByteArray, bytes);
    add("w/.zarray", second("[3]", "[2]", "null", "\"" + dtype + "\"", fill));
    add(".zgroup", "{}");
    const auto model = open();
    QCOMPARE(bool(model), !bytes.isEmpty());
    if (model)
        QCOMPARE(valuesOf(**model, (*model)->tensors.at(0)), bytes.repeated(3));
    else
        QVERIFY(text(model.error().message).contains(QStringLiteral("fill_value")));
}

void ZarrTest::isNotRead_data() {
    QTest::addColumn<QByteArray>("about");
    QTest::addColumn<int>("version");
    QTest::addColumn<QString>("says");
    const auto two = [](const char* name, const QByteArray& about, const char* says) {
        QTest::newRow(name) << about << 2 << QString::fromUtf8(says);
    };
    const auto three = [](const char* name, const QByteArray& about, const char* says) {
        QTest::newRow(name) << about << 3 << QString::fromUtf8(says);
    };
    two("no JSON", "x", "is not read");
    two("a list", "[]", "no JSON object");
    two("version 1", "{\"zarr_format\":1}", "its zarr_format is not 2");
    two("a key twice", "{\"zarr_format\":2,\"zarr_format\":2}", "twice");
    two("negative dimension", second("[-4]", "[4]"), "its shape has something else than whole numbers");
    two("fraction", second("[1.5]", "[4]"), "its shape has something else");
    two("text", second("[\"4\"]", "[4]"), "its shape has something else");
    two("beyond 64 bits", second("[99999999999999999999]", "[4]"), "its shape has something else");
    two("no shape", second("null", "[4]"), "its shape is no list");
    two("33 dimensions", second("[" + QByteArray("1,").repeated(32) + "1]", "[1]"), "more than 32 dimensions");
    two("overflow", second("[4294967296,4294967296]", "[4,4]"), "its number of elements overflows");
    two("overflow beside a zero", second("[0,4294967296,4294967296]", "[1,4,4]"), "its number of elements overflows");
    two("chunks of 0", second("[4]", "[0]"), "list of chunks has something else");
    two("chunks of another rank", second("[4]", "[4,4]"), "another number of dimensions");
    two("a chunk of 2 GiB", second("[4]", "[536870912]"), "its chunks have 2147483648 bytes each");
    two("a chunk that overflows", second("[4,4]", "[4294967296,4294967296]"), "of a chunk overflows");
    two("records", second("[4]", "[4]", "null", "[[\"a\",\"<f4\"]]"), "records");
    two("objects", second("[4]", "[4]", "null", "\"|O\""), "its elements are \"|O\"");
    two("128-bit complex", second("[4]", "[4]", "null", "\"<c16\""), "its elements are \"<c16\"");
    two("another compressor", second("[4]", "[4]", "{\"id\":\"lzma\"}"), "compressed with \"lzma\"");
    two("a compressor without a name", second("[4]", "[4]", "{}"), "compressed with \"\"");
    two("filters", second("[4]", "[4]", "null", "\"<f4\"", "0", ",\"order\":\"C\",\"filters\":[{\"id\":\"delta\"}]"),
        "through filters");
    two("order K", second("[4]", "[4]", "null", "\"<f4\"", "0", ",\"order\":\"K\""), "neither C nor F");
    two("separator", second("[4]", "[4]", "null", "\"<f4\"", "0", ",\"order\":\"C\",\"dimension_separator\":\"..\""),
        "neither a dot nor a slash");
    two("a trillion bytes and no chunk", second("[268435456,1024]", "[268435456,1]"),
        "it declares 1099511627776 bytes, and its chunks have 0");
    two("a million chunks", second("[1000000]", "[1]"), "in more files than the 65536");
    three("an unknown type", third("[4]", "[4]", kBytes, "\"r16\""), "its elements are \"r16\"");
    three("an unknown node", "{\"zarr_format\":3,\"node_type\":\"link\"}", "its node_type is not array");
    three("no codecs", third("[4]", "[4]", "[]"), "no codec \"bytes\"");
    three("an unknown codec", third("[4]", "[4]", "[\"bytes\",\"lzma\"]"), "compressed with \"lzma\"");
    three("two compressors", third("[4]", "[4]", "[\"bytes\",\"zstd\",\"gzip\"]"),
          "the codec \"gzip\" where none is read");
    three("a codec behind the check sum", third("[4]", "[4]", "[\"bytes\",\"crc32c\",\"zstd\"]"),
          "behind its check sum");
    three("compressed before bytes", third("[4]", "[4]", "[\"zstd\",\"bytes\"]"),
          "the codec \"zstd\" where none is read");
    three("an order of axes",
          third("[4,4,4]", "[4,4,4]", "[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0,2]}},\"bytes\"]"),
          "its axes are in an order");
    three("a compressed index",
          third("[4]", "[4]",
                "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"codecs\":[\"bytes\"],\"index_"
                "codecs\":"
                "[\"bytes\",\"zstd\"]}}]"),
          "the codec \"zstd\" where none is read");
    three("shards that are not whole chunks", third("[4]", "[3]", kShard), "its shards are not whole chunks");
    three("storage transformers", third("[4]", "[4]", kBytes, "\"float32\"", ",\"storage_transformers\":[{}]"),
          "storage transformers");
}

void ZarrTest::isNotRead() {
    QFETCH(QByteArray, about);
    QFETCH(int, version);
    QFETCH(QString, says);
    add(version == 2 ? "bad/.zarray" : "bad/zarr.json", about);
    add("good/.zarray", second("[4]", "[4]"));
    add(".zgroup", "{}");
    const auto model = open();
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    // What is no number is said; what cannot be read is listed too.
    const bool isListed = !about.contains("\"a\",") && !about.contains("|O");
    QCOMPARE((*model)->tensors.size(), std::size_t(isListed ? 2 : 1));
    QCOMPARE((*model)->tensors.front().isUnread(), isListed);
    QVERIFY(!(*model)->tensors.back().isUnread());
    QCOMPARE((*model)->warnings.size(), std::size_t(1));
    const QString why = text((*model)->warnings[0]);
    QVERIFY2(why.contains(says) && why.contains(QStringLiteral("\"bad\"")), qPrintable(why));
}

/// One byte per element; only the lower bits count.
void ZarrTest::narrowIntegers() {
    add("four/.zarray", second("[6]", "[4]", "null", "\"int4\"", "-3"));
    add("four/0", QByteArray::fromHex("0807f8f7"));
    add("two/zarr.json", third("[4]", "[4]", "[\"bytes\"]", "\"int2\""));
    add("two/c/0", QByteArray::fromHex("000102ff"));
    add(".zgroup", "{}");
    const auto model = opened(folder_->path());
    const auto &four = *model->find("four"), &two = *model->find("two");
    QCOMPARE(valuesOf(*model, four), QByteArray::fromHex("f807f807fdfd"));
    QCOMPARE(valuesOf(*model, two), QByteArray::fromHex("0001feff"));
    QCOMPARE(text(four.derived->description()), QStringLiteral("zarr 2, int4, chunks of [4], uncompressed"));
    QCOMPARE(four.dtype, DType::I8);
}

void ZarrTest::groupsAndNames() {
    add("zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\"}");
    add("a/zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\"}");
    add("a/w10/.zarray", second("[]", "[]"));
    add("a/w10/0", zeros(4));
    add("a/w9/zarr.json", third("[4]", "[4]", kBytes));
    add("b.c/.zarray", second("[0,4]", "[1,4]"));
    const auto model = open();
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QStringList names;
    for (const auto& tensor : (*model)->tensors) names += text(tensor.name);
    QCOMPARE(names, (QStringList{QStringLiteral("a/w9"), QStringLiteral("a/w10"), QStringLiteral("b.c")}));
    for (const auto& tensor : (*model)->tensors) QVERIFY((*model)->view(tensor));
    // The folder of a single array.
    const auto alone = opened(folder_->filePath(QStringLiteral("a/w9")));
    QCOMPARE(text(alone->tensors.at(0).name), QStringLiteral("w9"));
    // An empty folder.
    QTemporaryDir empty;
    put(empty.path(), QStringLiteral(".zgroup"), "{}");
    const auto none = openModel(empty.path().toStdString());
    QVERIFY(!none && text(none.error().message).endsWith(QStringLiteral("holds no zarr array.")));
}

// The test vectors of RFC 3720, B.4.
void ZarrTest::checkSum() {
    const auto of = [](const QByteArray& bytes) {
        return crc32c(std::as_bytes(std::span(bytes.constData(), std::size_t(bytes.size()))));
    };
    QCOMPARE(of(zeros(32)), 0x8a9136aau);
    QCOMPARE(of(QByteArray(32, '\xff')), 0x62a8ab43u);
    QCOMPARE(of("123456789"), 0xe3069283u);
}

QS_TEST(ZarrTest)
#include "zarr_test.moc"
