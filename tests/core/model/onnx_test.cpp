// SPDX-License-Identifier: GPL-3.0-or-later
// ONNX models: every element type in every field that can hold it, networks of other programs, and faulty files.
// onnx_outside_test.cpp tests external data.
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "core/model/onnx/graph.h"
#include "made_file.h"
#include "made_protobuf.h"
#include "real_file.h"
#include "tests/support/test_program.h"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace qs;

class OnnxTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void asTheReferenceReads_data();
    void asTheReferenceReads();
    void everyRangeOfAComputedTensor();
    void types_data();
    void types();
    void isListedWithItsReason_data();
    void isListedWithItsReason();
    void lies_data();
    void lies();
    void everyPrefixOfAFile();
    void overTwoGigabytes();
    void namesOfNestedTensors();
    void namesThatAreTheSame();
    void outputAxes();
    void readAndNotMapped();
    void metadata();
    void weightsOfDequantizeLinear();
    void whatIsNoWeightOfDequantizeLinear();
    void namesMeanNoConvention();

private:
    QString at(const char* name) const { return folder_->filePath(QString::fromUtf8(name)); }
    QString putModel(const QByteArray& bytes) { return put(folder_->path(), QStringLiteral("m.onnx"), bytes); }
    std::shared_ptr<const Model> open(const QByteArray& bytes) { return opened(putModel(bytes)); }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

const QByteArray kFour = pb::dims({4});

QByteArray one(const QByteArray& tensor) { return pb::model(pb::initializer(tensor)); }
QByteArray raw(const QByteArray& name, int type, const QByteArray& shape, const QByteArray& bytes) {
    return one(pb::tensor(name, type, shape, pb::raw(bytes)));
}
QByteArray initializer(const QByteArray& name, int type, const QByteArray& shape, const QByteArray& bytes) {
    return pb::initializer(pb::tensor(name, type, shape, pb::raw(bytes)));
}
QByteArray f32s(std::initializer_list<float> values) {
    return QByteArray(reinterpret_cast<const char*>(std::data(values)), qsizetype(4 * values.size()));
}
QByteArray dequantize(const QByteArray& codes, const QByteArray& scale, const QByteArray& zero,
                      const QByteArray& rest = {}) {
    return pb::node("DequantizeLinear", codes + "_dq", codes + "_f",
                    pb::part(1, codes) + pb::part(1, scale) + (zero.isEmpty() ? zero : pb::part(1, zero)) + rest);
}
QByteArray axis(std::uint64_t value) { return pb::attribute("axis", pb::number(3, value)); }
std::vector<float> valuesOf(const Model& model, const char* name) {
    const TensorInfo* tensor = model.find(name);
    if (!tensor || tensor->dtype != DType::F32) return {};
    std::vector<float> out(tensor->elements);
    model.view(*tensor)->readInto(0, std::as_writable_bytes(std::span(out)));
    return out;
}
QByteArray hex(const char* text) { return QByteArray::fromHex(text); }

} // namespace

void OnnxTest::asTheReferenceReads_data() {
    QTest::addColumn<QString>("file");
    QTest::newRow("every type, by onnx") << QStringLiteral("types");
    QTest::newRow("basic-pitch, a trained network") << QStringLiteral("basic_pitch");
}

// The hashes are of the values that onnx 1.12 reads; see tests/data/onnx/README.md.
void OnnxTest::asTheReferenceReads() {
    QFETCH(QString, file);
    const QString data = QStringLiteral(QS_TEST_DATA "/onnx/");
    QString path = data + file + QStringLiteral(".onnx");
    if (!QFile::exists(path)) path = putModel(inflated(path + QStringLiteral(".zst")));
    const auto model = opened(path);
    QCOMPARE(text(model->format), QStringLiteral("onnx"));
    compareWithSums(*model, data + file + QStringLiteral(".sha256"));
}

void OnnxTest::everyRangeOfAComputedTensor() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/onnx/types.onnx"));
    const auto* tensor = model->find("long_typed"); // varints: decoding starts at several marked places
    QVERIFY(tensor && tensor->derived);
    QCOMPARE(QByteArray(tensor->typeId()), QByteArray("I32"));
    const QByteArray all = valuesOf(*model, *tensor);
    for (const std::uint64_t begin : {0, 1, 3, 4, 16383, 16384, 16385, 20000, 36003})
        for (const std::uint64_t n : {0, 1, 2, 5, 4096, 20000}) {
            if (begin + n > tensor->bytes) continue;
            QByteArray part(int(n), 'x');
            tensor->derived->read(begin, std::as_writable_bytes(std::span(part.data(), std::size_t(n))));
            QCOMPARE(part, all.mid(int(begin), int(n)));
        }
}

void OnnxTest::types_data() {
    QTest::addColumn<QByteArray>("tensor");
    QTest::addColumn<QByteArray>("typeId");
    QTest::addColumn<QByteArray>("values");
    const auto row = [](const char* name, int type, const QByteArray& shape, const QByteArray& values,
                        const char* typeId, const QByteArray& want) {
        QTest::newRow(name) << pb::tensor("w", type, shape, values) << QByteArray(typeId) << want;
    };
    using pb::dims, pb::number, pb::part, pb::raw, pb::varint;
    row("BFLOAT16", 16, dims({2}), raw(hex("803f00c0")), "BF16", hex("803f00c0"));
    row("BFLOAT16, int32_data", 16, dims({2}), part(5, varint(0x3f80) + varint(0xc000)), "BF16", hex("803f00c0"));
    row("FLOAT8E4M3FN", 17, dims({2}), raw(hex("38b8")), "F8_E4M3", hex("38b8"));
    row("FLOAT8E4M3FNUZ", 18, dims({2}), raw(hex("38b8")), "F8_E4M3FNUZ", hex("38b8"));
    row("FLOAT8E5M2", 19, dims({2}), raw(hex("38b8")), "F8_E5M2", hex("38b8"));
    row("FLOAT8E5M2FNUZ", 20, dims({2}), raw(hex("38b8")), "F8_E5M2FNUZ", hex("38b8"));
    row("FLOAT8E5M2FNUZ, int32_data", 20, dims({2}), part(5, varint(0x38) + varint(0xb8)), "F8_E5M2FNUZ", hex("38b8"));
    row("FLOAT8E8M0", 24, dims({2}), raw(hex("7f80")), "F8_E8M0", hex("7f80"));
    // An odd number of different values: low nibble first, last half byte unused.
    row("UINT4", 21, dims({5}), raw(hex("21f30a")), "UINT4", hex("0102030f0a"));
    row("INT4", 22, dims({5}), raw(hex("21f30a")), "INT4", hex("010203fffa"));
    row("INT4, int32_data", 22, dims({5}), part(5, varint(0x21) + varint(0xf3) + varint(0x0a)), "INT4",
        hex("010203fffa"));
    row("INT4 of -8 and 7", 22, dims({2}), raw(hex("78")), "INT4", hex("f807"));
    row("FLOAT4E2M1", 23, dims({4}), raw(hex("f19c")), "FLOAT4E2M1",
        hex("0000003f"
            "0000c0c0"
            "000000c0"
            "000000bf"));
    row("UINT2", 25, dims({5}), raw(hex("e402")), "UINT2", hex("0001020302"));
    row("INT2", 26, dims({5}), raw(hex("e402")), "INT2", hex("0001fefffe"));
    row("float_data, packed", 1, dims({2}), part(4, hex("0000803f000000c0")), "F32", hex("0000803f000000c0"));
    row("float_data, one by one", 1, dims({2}), pb::tag(4, 5) + hex("0000803f") + pb::tag(4, 5) + hex("000000c0"),
        "F32", hex("0000803f000000c0"));
    row("float_data, both ways", 1, dims({3}), pb::tag(4, 5) + hex("0000803f") + part(4, hex("000000c000000040")),
        "F32", hex("0000803f000000c000000040"));
    row("float_data in two packs", 1, dims({2}), part(4, hex("0000803f")) + part(4, hex("000000c0")), "F32",
        hex("0000803f000000c0"));
    row("int32_data, one by one", 6, dims({2}), number(5, 5) + number(5, ~std::uint64_t(0)), "I32",
        hex("05000000ffffffff"));
    row("int32_data of INT8, negative", 3, dims({2}), part(5, varint(~std::uint64_t(0)) + varint(7)), "I8",
        hex("ff07"));
    row("int64_data", 7, dims({1}), part(7, varint(~std::uint64_t(1))), "I64", hex("feffffffffffffff"));
    row("double_data", 11, dims({1}), part(10, hex("000000000000f03f")), "F64", hex("000000000000f03f"));
    row("uint64_data of UINT32", 12, dims({1}), part(11, varint(0xfffffffe)), "U32", hex("feffffff"));
    row("COMPLEX64", 14, dims({1}), part(4, hex("0000803f000000c0")), "C64", hex("0000803f000000c0"));
    row("packed dims", 1, part(1, varint(1) + varint(2)), raw(zeros(8)), "F32", zeros(8));
    row("rank 0", 1, {}, raw(hex("0000803f")), "F32", hex("0000803f"));
    row("nothing in it", 1, dims({0, 3}), {}, "F32", {});
    row("nothing in it, raw_data", 1, dims({0, 3}), raw({}), "F32", {});
    row("nothing in it, of 4 bits", 22, dims({0}), raw({}), "INT4", {});
    row("unknown fields", 1, dims({1}), raw(zeros(4)) + number(99, 1) + part(98, "x") + pb::tag(97, 1) + zeros(8),
        "F32", zeros(4));
}

void OnnxTest::types() {
    QFETCH(QByteArray, tensor);
    QFETCH(QByteArray, typeId);
    QFETCH(QByteArray, values);
    const auto model = open(one(tensor));
    QCOMPARE(model->tensors.size(), std::size_t(1));
    QVERIFY(model->warnings.empty());
    QCOMPARE(QByteArray(model->tensors[0].typeId()), typeId);
    QCOMPARE(valuesOf(*model, model->tensors[0]), values);
}

void OnnxTest::isListedWithItsReason_data() {
    QTest::addColumn<QByteArray>("graph");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& graph, const char* says) {
        QTest::newRow(name) << graph << QString::fromUtf8(says);
    };
    using pb::initializer, pb::part, pb::tensor;
    row("texts", initializer(tensor("w", 8, pb::dims({1}), part(6, "a"))), "\"w\" holds texts");
    row("COMPLEX128", initializer(tensor("w", 15, pb::dims({1}), pb::raw(zeros(16)))), "complex numbers of 128 bits");
    row("a later type", initializer(tensor("w", 27, pb::dims({1}), pb::raw(zeros(16)))), "of a later version of ONNX");
    row("no data", initializer(tensor("w", 1, kFour, {})), "\"w\" has no data");
    row("segments", initializer(tensor("w", 1, kFour, part(3, pb::number(1, 0)))), "stored in segments");
    row("sparse", part(15, part(1, tensor("w", 1, kFour, pb::raw(zeros(16))))), "\"w\" is sparse");
    row("sparse constant",
        pb::node("Constant", "", "c",
                 pb::attribute("sparse_value", part(22, part(1, tensor("w", 1, kFour, pb::raw(zeros(16))))))),
        "\"w\" is sparse");
    row("two of a kind",
        initializer(tensor("a", 8, pb::dims({1}), part(6, "a"))) +
            initializer(tensor("b", 8, pb::dims({1}), part(6, "a"))),
        "2 tensors are not shown: the first, \"a\", holds texts");
}

void OnnxTest::isListedWithItsReason() {
    QFETCH(QByteArray, graph);
    QFETCH(QString, says);
    const auto model = open(pb::model(graph + pb::initializer(pb::tensor("good", 1, kFour, pb::raw(zeros(16))))));
    QCOMPARE(model->tensors.size(), std::size_t(1));
    QCOMPARE(model->warnings.size(), std::size_t(1));
    QVERIFY2(text(model->warnings[0]).contains(says), model->warnings[0].c_str());
}

void OnnxTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QString::fromUtf8(says);
    };
    using pb::dims, pb::initializer, pb::number, pb::part, pb::tensor;
    const QByteArray sixteen = pb::raw(zeros(16));
    row("no graph", number(1, 8) + part(2, "test"), "it has no graph");
    row("noise", hex("a7c31f0e99d2447b8a6655e1f0b3"), "of an ONNX model");
    row("a field of number 0", pb::model({}) + hex("00"), "is no field of protobuf");
    row("an unknown wire type", pb::model({}) + hex("0f"), "is no field of protobuf");
    row("the end of a group that never began", pb::model({}) + hex("0c"), "is no field of protobuf");
    row("groups 40 deep", pb::model({}) + QByteArray(40, '\x0b') + QByteArray(40, '\x0c'), "is no field of protobuf");
    row("graph longer than the file", number(1, 8) + pb::lie(7, 900, zeros(3)), "says 900 bytes where 3 are left");
    row("graph of 2^63 bytes", number(1, 8) + pb::lie(7, std::uint64_t(1) << 63, zeros(3)),
        "says 9223372036854775808 bytes where 3 are left");
    row("a length without an end", number(1, 8) + hex("3affffffffffffffffffff"), "it ends within field 7");
    row("initializer longer than its graph", pb::model(pb::lie(5, 50, zeros(3))) + zeros(100),
        "says 50 bytes where 3 are left");
    row("raw_data longer than its tensor", one(dims({4}) + number(2, 1) + pb::lie(9, 16, zeros(3))),
        "says 16 bytes where 3 are left");
    row("raw_data too short", raw("w", 1, kFour, zeros(15)), "FLOAT of [4] needs 16 bytes, raw_data has 15");
    row("raw_data too long", raw("w", 1, kFour, zeros(17)), "FLOAT of [4] needs 16 bytes, raw_data has 17");
    row("raw_data of 4 bits", raw("w", 22, dims({5}), zeros(2)), "INT4 of [5] needs 3 bytes, raw_data has 2");
    row("raw_data twice", one(tensor("w", 1, kFour, sixteen + sixteen)), "it has raw_data twice");
    row("raw_data and float_data", one(tensor("w", 1, kFour, sixteen + part(4, zeros(16)))),
        "raw_data and values in another field");
    row("values in another field", one(tensor("w", 1, kFour, part(10, zeros(32)))), "a field that is not one of FLOAT");
    row("too few values", one(tensor("w", 7, kFour, part(7, zeros(3)))), "INT64 of [4] needs 4 values, it has 3");
    row("too many values", one(tensor("w", 7, kFour, part(7, zeros(5)))), "INT64 of [4] needs 4 values, it has 5");
    row("half a float", one(tensor("w", 1, dims({1}), part(4, zeros(6)))), "its field 4 is broken");
    row("a varint beyond its pack", one(tensor("w", 7, kFour, part(7, hex("000000ff")) + part(7, hex("01")))),
        "its field 7 is broken");
    row("a varint of 11 bytes", one(tensor("w", 7, dims({1}), part(7, QByteArray(11, '\xff')))),
        "its field 7 is broken");
    row("negative dimension", raw("w", 1, dims({~std::uint64_t(0)}), zeros(16)), "a dimension of -1");
    row("overflow", raw("w", 1, dims({1u << 31, 1u << 31, 4}), zeros(16)), "number of elements overflows");
    row("overflow beside a zero", raw("w", 1, dims({0, 1u << 31, 1u << 31, 4}), {}), "number of elements overflows");
    row("33 dimensions", raw("w", 1, pb::number(1, 1).repeated(33), zeros(4)), "more than 32 dimensions");
    row("a billion dimensions in few bytes", raw("w", 1, part(1, QByteArray(100000, '\1')), zeros(4)),
        "more than 32 dimensions");
    row("broken dims", raw("w", 1, part(1, hex("ff")), zeros(4)), "its dims are broken");
    row("no data type", one(tensor("w", 0, kFour, sixteen)), "its data type is 0");
    row("negative data type", one(dims({4}) + number(2, ~std::uint64_t(0)) + sixteen), "its data type is -1");
    row("data_location 2", one(tensor("w", 1, kFour, sixteen + number(14, 2))), "its data_location is 2");
    row("a name that is not UTF-8", raw(hex("ff"), 1, kFour, zeros(16)), "its name is not text");
    row("a name with a NUL", raw(QByteArray("a\0b", 3), 1, kFour, zeros(16)), "its name is not text");
    row("a name over 1 MiB", raw(QByteArray((1 << 20) + 1, 'n'), 1, kFour, zeros(16)), "longer than 1 MiB");
    row("a constant of two numbers",
        pb::model(pb::node("Constant", "", "c", pb::attribute("value_int", number(3, 1) + number(3, 2)))),
        "has its value 2 times");
    QByteArray deep = initializer(tensor("w", 1, kFour, sixteen));
    for (int i = 0; i < 11; ++i) deep = pb::node("If", "i", "o", pb::attribute("g", part(6, deep)));
    row("graphs 11 deep", pb::model(deep), "graphs within graphs more than 10 deep");
    row("65,537 tensors", pb::model(initializer(tensor("w", 1, dims({0}), {})).repeated(65537)),
        "more than 65536 tensors");
}

void OnnxTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    const QString path = putModel(bytes);
    const auto model = openModel(path.toStdString());
    QVERIFY(!model);
    const QString why = text(model.error().message);
    QVERIFY2(why.contains(says) && why.startsWith(path) && why.endsWith(u'.') && !why.contains(u'\n'), qPrintable(why));
}

void OnnxTest::everyPrefixOfAFile() {
    const QByteArray whole = bytesOf(QStringLiteral(QS_TEST_DATA "/onnx/types.onnx")).left(6000);
    for (int n = 0; n < whole.size(); n += n < 400 ? 1 : 37) {
        const auto read = [&](std::uint64_t at, std::span<std::byte> into) {
            if (at > std::uint64_t(n) || into.size() > std::uint64_t(n) - at) qFatal("read beyond the end");
            std::memcpy(into.data(), whole.constData() + at, into.size());
        };
        QVERIFY(!onnx::parse(std::uint64_t(n), read, "m.onnx"));
    }
}

/// The limit of protobuf is checked before anything is read.
void OnnxTest::overTwoGigabytes() {
    const auto big = onnx::parse(
        std::uint64_t(1) << 31, [](std::uint64_t, std::span<std::byte>) { qFatal("read"); }, "m");
    QVERIFY(!big && text(big.error().message).contains(QStringLiteral("at most 2 GiB")));
}

void OnnxTest::namesOfNestedTensors() {
    const QByteArray w = pb::initializer(pb::tensor("w", 1, kFour, pb::raw(zeros(16))));
    const auto named = [&](const QByteArray& graph) {
        QStringList names;
        const auto model = open(graph);
        for (const auto& tensor : model->tensors) names += text(tensor.name);
        return names;
    };
    const auto body = [&](const QByteArray& node) {
        return pb::node("Loop", node, "o", pb::attribute("body", pb::part(6, w)));
    };
    QCOMPARE(named(pb::model(w + body("l") + body(""))),
             (QStringList{QStringLiteral("Loop_1/body/w"), QStringLiteral("l/body/w"), QStringLiteral("w")}));
    // An invalid or too long name is replaced by the name of its operator.
    QCOMPARE(named(pb::model(body(hex("ff")))), QStringList{QStringLiteral("Loop_0/body/w")});
    QCOMPARE(named(pb::model(body(QByteArray(200, 'x')))), QStringList{QStringLiteral("Loop_0/body/w")});
    // The value of a Constant node gets the name of its output, however long.
    const QByteArray longName(300, 'c');
    QCOMPARE(
        named(pb::model(pb::node("Constant", "", longName,
                                 pb::attribute("value", pb::part(5, pb::tensor("", 1, kFour, pb::raw(zeros(16)))))))),
        QStringList{QString::fromUtf8(longName)});
    // A function of the model; here the attribute comes before the names.
    const QByteArray constant =
        pb::part(1, pb::attribute("value", pb::part(5, pb::tensor("", 1, kFour, pb::raw(zeros(16))))) +
                        pb::part(2, "c") + pb::part(4, "Constant"));
    QByteArray inFunction = constant;
    inFunction[0] = char(7 << 3 | 2);
    QCOMPARE(named(pb::model(constant) + pb::part(25, pb::part(1, "f") + inFunction)),
             (QStringList{QStringLiteral("c"), QStringLiteral("f/c")}));
    // Prefixes have a length limit.
    QByteArray deep = w;
    for (int i = 0; i < 9; ++i)
        deep = pb::node("If", QByteArray(60, char('a' + i)), "o", pb::attribute("then_branch", pb::part(6, deep)));
    const auto names = named(pb::model(deep));
    QCOMPARE(names.size(), 1);
    QVERIFY2(names[0].size() < 450 && names[0].endsWith(QStringLiteral("…/w")), qPrintable(names[0]));
}

void OnnxTest::namesThatAreTheSame() {
    const QByteArray w = pb::initializer(pb::tensor("w", 1, kFour, pb::raw(zeros(16))));
    const auto model = open(pb::model(w + w + pb::initializer(pb::tensor("w #2", 1, kFour, pb::raw(zeros(16)))) + w));
    QStringList names;
    for (const auto& tensor : model->tensors) names += text(tensor.name);
    QCOMPARE(names.size(), 4);
    names.removeDuplicates();
    QCOMPARE(names.size(), 4);
    QVERIFY(
        text(model->warnings.at(0)).contains(QStringLiteral("2 tensors have the name of another, \"w\" the first")));
    for (const auto& name : names) QVERIFY(model->find(name.toStdString()));
}

void OnnxTest::readAndNotMapped() {
    qputenv("QS_READ", "pread");
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/onnx/types.onnx"));
    qunsetenv("QS_READ");
    QVERIFY(!model->files[0].mapping->isMapped());
    compareWithSums(*model, QStringLiteral(QS_TEST_DATA "/onnx/types.sha256"));
}

/// Weights of MatMul and Gemm are [in, out], unless Gemm transposes them. Kernels of convolutions are [out, ...].
void OnnxTest::outputAxes() {
    const auto inputs = [](const char* first, const char* second) { return pb::part(1, first) + pb::part(1, second); };
    const auto matrix = [](const char* name) {
        return pb::initializer(pb::tensor(name, 1, pb::dims({2, 2}), pb::raw(zeros(16))));
    };
    const auto model = open(
        pb::model(pb::node("MatMul", "", "a", inputs("x", "product")) + pb::node("Gemm", "", "b", inputs("a", "gemm")) +
                  pb::node("Gemm", "", "c", inputs("b", "turned") + pb::attribute("transB", pb::number(3, 1))) +
                  pb::node("Conv", "", "d", inputs("c", "kernel")) + pb::node("MatMul", "", "e", inputs("left", "d")) +
                  matrix("product") + matrix("gemm") + matrix("turned") + matrix("kernel") + matrix("left")));
    QStringList last;
    for (const TensorInfo& tensor : model->tensors)
        if (tensor.outputLast) last << QString::fromStdString(tensor.name);
    QCOMPARE(last, (QStringList{QStringLiteral("gemm"), QStringLiteral("product")}));
}

void OnnxTest::metadata() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/onnx/types.onnx"));
    const auto& metadata = model->files.at(0).metadata;
    QCOMPARE(metadata.at("producer_name"), std::string("make_files.py"));
    QCOMPARE(metadata.at("opset ai.onnx"), std::string("17"));
    QCOMPARE(metadata.at("note"), std::string("of every type"));
    QCOMPARE(metadata.at("graph"), std::string("types"));
}

/// (code - zero point) * scale: int8 and uint8, one scale or one per channel on any axis, and int32 biases.
void OnnxTest::weightsOfDequantizeLinear() {
    const QByteArray scale = initializer("s", 1, {}, f32s({0.5f})),
                     scales = initializer("ss", 1, pb::dims({2}), f32s({0.5f, 2})),
                     three = initializer("sss", 1, pb::dims({3}), f32s({1, 10, 100}));
    const QByteArray graph =
        scale + scales + three + initializer("a_quantized", 3, pb::dims({2, 3}), hex("01ff7f80fe00")) +
        dequantize("a_quantized", "s", "") + initializer("b", 2, pb::dims({2, 3}), hex("0001800203ff")) +
        initializer("bz", 2, pb::dims({2}), hex("8001")) + dequantize("b", "ss", "bz", axis(0)) +
        initializer("c", 3, pb::dims({2, 3}), hex("010203040506")) +
        dequantize("c", "sss", "", axis(~std::uint64_t(0))) + // -1
        initializer("d", 3, pb::dims({2, 3, 2}), hex("0102030405060708090a0b0c")) + dequantize("d", "sss", "") +
        initializer("bias", 6, pb::dims({2}), hex("e803000018fcffff")) + dequantize("bias", "ss", "", axis(0)) +
        dequantize("c", "sss", "", axis(1)); // read by a second node
    const auto model = open(pb::model(graph));
    QVERIFY2(model->warnings.empty(), model->warnings.empty() ? "" : model->warnings[0].c_str());
    QStringList names;
    for (const auto& tensor : model->tensors) {
        names += text(tensor.name);
        QVERIFY(tensor.derived && tensor.isWeight() == (tensor.name != "bias"));
        QCOMPARE(tensor.typeId(), "ONNX-QDQ");
    }
    QCOMPARE(names.join(u' '), QStringLiteral("a b bias c d"));
    using Values = std::vector<float>;
    QCOMPARE(valuesOf(*model, "a"), (Values{.5f, -.5f, 63.5f, -64, -1, 0}));
    QCOMPARE(valuesOf(*model, "b"), (Values{-64, -63.5f, 0, 2, 4, 508}));
    QCOMPARE(valuesOf(*model, "c"), (Values{1, 20, 300, 4, 50, 600}));
    QCOMPARE(valuesOf(*model, "d"), (Values{1, 2, 30, 40, 500, 600, 7, 8, 90, 100, 1100, 1200}));
    QCOMPARE(valuesOf(*model, "bias"), (Values{500, -2000}));
    QVERIFY(text(model->find("b")->derived->description())
                .contains(QStringLiteral("2 scales, one a channel, zero points")));
    // Every range must give the same values.
    const auto& d = *model->find("d");
    const auto whole = valuesOf(*model, "d");
    for (std::uint64_t begin = 0; begin < 12; ++begin)
        for (std::uint64_t n = 1; n <= 12 - begin; ++n) {
            Values part(n);
            model->view(d)->readInto(4 * begin, std::as_writable_bytes(std::span(part)));
            QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + std::ptrdiff_t(begin)));
        }
}

void OnnxTest::whatIsNoWeightOfDequantizeLinear() {
    const QByteArray codes = initializer("w", 3, pb::dims({2, 3}), hex("010203040506")),
                     scale = initializer("s", 1, {}, f32s({2})),
                     two = initializer("ss", 1, pb::dims({2}), f32s({1, 2}));
    const auto stays = [&](const QByteArray& graph) {
        const auto model = open(pb::model(graph));
        const auto* w = model->find("w");
        return w && !w->derived && w->dtype == DType::I8;
    };
    QVERIFY(!stays(codes + scale + dequantize("w", "s", "")));
    QVERIFY(stays(codes + scale + dequantize("w", "computed", "")));
    QVERIFY(stays(codes + scale + dequantize("w", "s", "computed")));
    QVERIFY(stays(codes + scale + dequantize("computed", "s", "")));
    QVERIFY(stays(codes + two + dequantize("w", "ss", "", axis(1)))); // 3 columns
    QVERIFY(stays(codes + two + dequantize("w", "ss", "", axis(5))));
    QVERIFY(stays(codes + two + dequantize("w", "ss", "", axis(0) + pb::attribute("block_size", pb::number(3, 32)))));
    QVERIFY(stays(codes + scale + initializer("z", 2, {}, hex("01")) + dequantize("w", "s", "z"))); // of another type
    QVERIFY(stays(codes + scale + pb::node("QuantizeLinear", "q", "o", pb::part(1, "w") + pb::part(1, "s"))));
}

/// Field names of a safetensors convention have no meaning in an ONNX graph.
void OnnxTest::namesMeanNoConvention() {
    const auto model = open(pb::model(initializer("l.weight", 3, pb::dims({2, 3}), hex("010203040506")) +
                                      initializer("l.weight_scale", 1, pb::dims({2, 1}), f32s({1, 2}))));
    QCOMPARE(model->tensors.size(), std::size_t(2));
    for (const auto& tensor : model->tensors) QVERIFY(!tensor.derived);
}

QS_TEST(OnnxTest)
#include "onnx_test.moc"
