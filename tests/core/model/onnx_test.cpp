// SPDX-License-Identifier: GPL-3.0-or-later
// ONNX models: every element type in every field that can hold it, and networks of other programs.
// onnx_outside_test.cpp tests external data.
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "core/model/onnx/graph.h"
#include "made_file.h"
#include "made_protobuf.h"
#include "real_file.h"
#include "tests/core/model/made_onnx.h"
#include "tests/support/test_program.h"

#include <fmt/ranges.h>

using namespace qs;
using namespace qs::test;

namespace {

QByteArray f32s(std::initializer_list<float> values) {
    return QByteArray(reinterpret_cast<const char*>(std::data(values)), qsizetype(4 * values.size()));
}

QByteArray dequantize(const QByteArray& codes, const QByteArray& scale, const QByteArray& zero,
                      const QByteArray& rest = {}) {
    return pb::node("DequantizeLinear", codes + "_dq", codes + "_f",
                    pb::part(1, codes) + pb::part(1, scale) + (zero.isEmpty() ? zero : pb::part(1, zero)) + rest);
}

QByteArray axis(std::uint64_t value) { return pb::attribute("axis", pb::number(3, value)); }

std::vector<float> floatsOf(const Model& model, const char* name) {
    const TensorInfo* tensor = model.find(name);
    if (!tensor || tensor->dtype != DType::F32) return {};
    std::vector<float> out(tensor->elements);
    model.view(*tensor)->readInto(0, std::as_writable_bytes(std::span(out)));
    return out;
}

} // namespace

class OnnxTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void asTheReferenceReads_data();
    void asTheReferenceReads();
    void everyRangeOfAComputedTensor();
    void types_data();
    void types();
    void outputAxes();
    void readAndNotMapped();
    void metadata();
    void weightsOfDequantizeLinear();
    void blocksOfDequantizeLinear();
    void whatIsNoWeightOfDequantizeLinear();
    void weightsOfOperatorsOnCodes();
    void weightsOfIntegerProducts();
    void weightsOfPackedOperators_data();
    void weightsOfPackedOperators();
    void packedWeightsThatAreNotDecoded();
    void scalesAreNoWeights_data();
    void scalesAreNoWeights();
    void functionsThatCallThemselves();
    void namesMeanNoConvention();

private:
    QString at(const char* name) const { return folder_->filePath(QString::fromUtf8(name)); }
    QString putModel(const QByteArray& bytes) { return put(folder_->path(), QStringLiteral("m.onnx"), bytes); }
    std::shared_ptr<const Model> open(const QByteArray& bytes) { return opened(putModel(bytes)); }
    std::unique_ptr<QTemporaryDir> folder_;
};

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
    QCOMPARE(floatsOf(*model, "a"), (Values{.5f, -.5f, 63.5f, -64, -1, 0}));
    QCOMPARE(floatsOf(*model, "b"), (Values{-64, -63.5f, 0, 2, 4, 508}));
    QCOMPARE(floatsOf(*model, "c"), (Values{1, 20, 300, 4, 50, 600}));
    QCOMPARE(floatsOf(*model, "d"), (Values{1, 2, 30, 40, 500, 600, 7, 8, 90, 100, 1100, 1200}));
    QCOMPARE(floatsOf(*model, "bias"), (Values{500, -2000}));
    QVERIFY(text(model->find("b")->derived->description())
                .contains(QStringLiteral("2 scales, one a channel, zero points")));
    // Every range must give the same values.
    const auto& d = *model->find("d");
    const auto whole = floatsOf(*model, "d");
    for (std::uint64_t begin = 0; begin < 12; ++begin)
        for (std::uint64_t n = 1; n <= 12 - begin; ++n) {
            Values part(n);
            model->view(d)->readInto(4 * begin, std::as_writable_bytes(std::span(part)));
            QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + std::ptrdiff_t(begin)));
        }
}

/// Scales for blocks along an axis, and codes of 4 bits. The last block of an axis may be shorter.
void OnnxTest::blocksOfDequantizeLinear() {
    const auto blocks = [](std::uint64_t along, std::uint64_t size) {
        return axis(along) + pb::attribute("block_size", pb::number(3, size));
    };
    const QByteArray graph =
        // [3, 2] in blocks of 2 along axis 0: scales and zero points [2, 2]
        initializer("a", 3, pb::dims({3, 2}), hex("0a1428f6fd05")) +
        initializer("as", 1, pb::dims({2, 2}), f32s({1, 10, 0.5f, 4})) +
        initializer("az", 3, pb::dims({2, 2}), hex("01fe0003")) + dequantize("a", "as", "az", blocks(0, 2)) +
        // INT4 [2, 5] in blocks of 2 along the last axis: scales [2, 3]; codes 1 -2 7 -8 3 | -1 0 5 -6 2
        initializer("b_quantized", 22, pb::dims({2, 5}), hex("e187f3502a")) +
        initializer("bs", 1, pb::dims({2, 3}), f32s({1, 2, 4, 8, 16, 32})) +
        dequantize("b_quantized", "bs", "", blocks(~std::uint64_t(0), 2)) +
        // UINT4 with a zero point of 4 bits, one scale for each row
        initializer("c", 21, pb::dims({2, 3}), hex("f08712")) + initializer("cs", 1, pb::dims({2}), f32s({1, 0.25f})) +
        initializer("cz", 21, pb::dims({2}), hex("28")) + dequantize("c", "cs", "cz", axis(0));
    const auto model = open(pb::model(graph));
    QVERIFY2(model->warnings.empty(), model->warnings.empty() ? "" : model->warnings[0].c_str());
    QCOMPARE(model->tensors.size(), std::size_t(3));
    using Values = std::vector<float>;
    QCOMPARE(floatsOf(*model, "a"), (Values{9, 220, 39, -80, -1.5f, 8}));
    QCOMPARE(floatsOf(*model, "b"), (Values{1, -2, 14, -16, 12, -8, 0, 80, -96, 64}));
    QCOMPARE(floatsOf(*model, "c"), (Values{-8, 7, -1, 1.5f, 0, -0.25f}));
    QCOMPARE(text(model->find("a")->derived->description()),
             QStringLiteral("DequantizeLinear of I8, a scale for 2 elements, zero points"));
    QVERIFY(text(model->find("b")->derived->description()).contains(QStringLiteral("INT4, a scale for 2 elements")));
    for (const char* name : {"a", "b"}) { // every range gives the same values
        const auto& tensor = *model->find(name);
        const auto whole = floatsOf(*model, name);
        for (std::uint64_t begin = 0; begin < whole.size(); ++begin)
            for (std::uint64_t n = 1; n <= whole.size() - begin; ++n) {
                Values part(n);
                model->view(tensor)->readInto(4 * begin, std::as_writable_bytes(std::span(part)));
                QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + std::ptrdiff_t(begin)));
            }
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
    const QByteArray wide = initializer("sw", 1, pb::dims({2, 2}), f32s({1, 2, 3, 4}));
    const auto block = [](std::uint64_t size) { return axis(1) + pb::attribute("block_size", pb::number(3, size)); };
    QVERIFY(!stays(codes + wide + dequantize("w", "sw", "", block(2))));
    QVERIFY(stays(codes + wide + dequantize("w", "sw", "", block(3)))); // one block, not two
    QVERIFY(stays(codes + wide + dequantize("w", "sw", "", block(~std::uint64_t(0)))));
    QVERIFY(stays(codes + wide + scale + dequantize("w", "sw", "s", block(2)))); // one zero point for all blocks
    QVERIFY(stays(codes + scale + initializer("z", 2, {}, hex("01")) + dequantize("w", "s", "z"))); // of another type
    QVERIFY(stays(codes + scale + pb::node("QuantizeLinear", "q", "o", pb::part(1, "w") + pb::part(1, "s"))));
}

/// Operators that read codes and scales by themselves. A product has a scale for each of its outputs, the last axis.
void OnnxTest::weightsOfOperatorsOnCodes() {
    const QByteArray weights = initializer("w", 3, pb::dims({2, 3}), hex("010203040506")) +
                               initializer("ws", 1, pb::dims({2}), f32s({1, 10})) +
                               initializer("wc", 1, pb::dims({3}), f32s({1, 10, 100})) +
                               initializer("z", 3, pb::dims({2}), hex("0104"));
    const auto read = [&](const char* op, std::initializer_list<const char*> inputs, const QByteArray& rest = {}) {
        QByteArray parts;
        for (const char* input : inputs) parts += pb::part(1, input);
        const auto model = open(pb::model(weights + pb::node(op, "", "y", parts + rest)));
        const auto* tensor = model->find("w");
        if (tensor && tensor->derived)
            return QString::fromLatin1(tensor->outputLast ? "last " : "") + text(tensor->derived->description()) +
                   QStringLiteral(": ") + text(fmt::format("{}", fmt::join(floatsOf(*model, "w"), " ")));
        return QString();
    };
    const QByteArray own = pb::part(7, "com.microsoft"), turned = pb::attribute("transB", pb::number(3, 1));
    QCOMPARE(read("QLinearConv", {"x", "xs", "xz", "w", "ws", "z", "ys", "yz"}),
             QStringLiteral("QLinearConv of I8, 2 scales, one a channel, zero points: 0 1 2 0 10 20"));
    QCOMPARE(read("QLinearMatMul", {"x", "xs", "xz", "w", "wc", "", "ys", "yz"}),
             QStringLiteral("last QLinearMatMul of I8, 3 scales, one a channel: 1 20 300 4 50 600"));
    QCOMPARE(read("QGemm", {"x", "xs", "xz", "w", "wc", "", "", "ys", "yz"}, own),
             QStringLiteral("last QGemm of I8, 3 scales, one a channel: 1 20 300 4 50 600"));
    QCOMPARE(read("QGemm", {"x", "xs", "xz", "w", "ws", "z", "", "ys", "yz"}, own + turned),
             QStringLiteral("QGemm of I8, 2 scales, one a channel, zero points: 0 1 2 0 10 20"));
    QVERIFY(read("MatMulIntegerToFloat", {"x", "w", "xs", "wc"}, own).endsWith(QStringLiteral(": 1 20 300 4 50 600")));
    QVERIFY(read("DynamicQuantizeMatMul", {"x", "w", "wc"}, own).endsWith(QStringLiteral(": 1 20 300 4 50 600")));
    QCOMPARE(read("QLinearMatMul", {"x", "xs", "xz", "w", "ws", "", "ys", "yz"}), QString()); // 3 columns
    QCOMPARE(read("QLinearConv", {"x", "xs", "xz", "w"}), QString());
    QCOMPARE(read("QLinearConv", {"x", "xs", "xz", "w", "computed", "", "ys", "yz"}), QString());
    QCOMPARE(read("QLinearConv", {"x", "xs", "xz", "w", "ws"}, pb::part(7, "org.example")), QString());
    // The matrix of a product, dequantized first.
    const auto first = open(pb::model(weights + dequantize("w", "wc", "", axis(1)) +
                                      pb::node("MatMul", "", "y", pb::part(1, "x") + pb::part(1, "w_f"))));
    QVERIFY(first->find("w")->outputLast);
}

/// MatMulInteger has no scale: its result is cast and multiplied by the scales of both operands.
void OnnxTest::weightsOfIntegerProducts() {
    const auto node = [](const char* op, std::initializer_list<const char*> inputs,
                         std::initializer_list<const char*> outputs) {
        QByteArray parts = pb::part(4, op);
        for (const char* input : inputs) parts += pb::part(1, input);
        for (const char* output : outputs) parts += pb::part(2, output);
        return pb::part(1, parts);
    };
    const QByteArray weights = initializer("w_quantized", 2, pb::dims({2, 2}), hex("80817f00")) +
                               initializer("z", 2, {}, hex("80")) + initializer("s", 1, {}, f32s({0.5f})) +
                               initializer("fixed", 1, {}, f32s({2})),
                     quantized = node("DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"}),
                     scales = node("Mul", {"xs", "s"}, {"scales"}), cast = node("Cast", {"sum"}, {"f"}),
                     product = node("MatMulInteger", {"xq", "w_quantized", "xz", "z"}, {"sum"});
    const auto values = [&](const QByteArray& graph) {
        const auto model = open(pb::model(weights + graph));
        return model->find("w") ? floatsOf(*model, "w") : std::vector<float>();
    };
    using Values = std::vector<float>;
    const Values right{0, 0.5f, -0.5f, -64};
    QCOMPARE(values(quantized + scales + product + cast + node("Mul", {"f", "scales"}, {"y"})), right);
    QCOMPARE(values(node("Mul", {"scales", "f"}, {"y"}) + cast + product + scales + quantized), right);
    QCOMPARE(values(quantized + product + cast + node("Mul", {"f", "xs"}, {"g"}) + node("Mul", {"g", "s"}, {"y"})),
             right);
    QCOMPARE(values(quantized + scales + node("ConvInteger", {"xq", "w_quantized", "xz", "z"}, {"sum"}) + cast +
                    node("Mul", {"f", "scales"}, {"y"})),
             right);
    QCOMPARE(values(node("QuantizeLinear", {"x", "fixed", "xz"}, {"xq"}) + node("Mul", {"fixed", "s"}, {"scales"}) +
                    product + cast + node("Mul", {"f", "scales"}, {"y"})),
             right);
    // Where the scale of the weight is not known for sure, codes stay codes.
    QCOMPARE(values(product + cast + node("Mul", {"f", "s"}, {"y"})), Values());
    QCOMPARE(values(quantized + product + cast + node("Mul", {"f", "s"}, {"y"})), Values());
    QCOMPARE(values(quantized + node("Mul", {"s", "fixed"}, {"scales"}) + product + cast +
                    node("Mul", {"f", "scales"}, {"y"})),
             Values());
    QCOMPARE(values(quantized + scales + product + cast), Values());
    QCOMPARE(values(quantized + product + cast + node("Mul", {"f", "f"}, {"f"})), Values());
}

void OnnxTest::weightsOfPackedOperators_data() {
    QTest::addColumn<QString>("file");
    QTest::newRow("products and gathered rows") << QStringLiteral("packed");
    QTest::newRow("mixtures of experts") << QStringLiteral("qmoe");
    QTest::newRow("in functions, branches, by a cast and behind Gather") << QStringLiteral("calls");
    QTest::newRow("for TensorRT") << QStringLiteral("tensorrt");
}

/// The values that ONNX Runtime computes with; see tests/data/onnx/README.md.
void OnnxTest::weightsOfPackedOperators() {
    QFETCH(QString, file);
    const auto path = QStringLiteral(QS_TEST_DATA "/onnx/") + file;
    const auto model = opened(path + QStringLiteral(".onnx")), right = opened(path + QStringLiteral(".safetensors"));
    QVERIFY2(model->warnings.empty(), model->warnings.empty() ? "" : model->warnings[0].c_str());
    QCOMPARE(model->tensors.size(), right->tensors.size());
    for (const TensorInfo& wanted : right->tensors) {
        const TensorInfo* tensor = model->find(wanted.name);
        QVERIFY2(tensor && tensor->derived, wanted.name.view().data());
        QCOMPARE(tensor->shape, wanted.shape);
        const std::string name(wanted.name);
        const auto is = floatsOf(*model, name.c_str()), should = floatsOf(*right, name.c_str());
        for (std::size_t i = 0; i < is.size(); ++i)
            QVERIFY2(std::abs(is[i] - should[i]) <= 1e-6f * std::max(1.0f, std::abs(should[i])), name.c_str());
        for (std::uint64_t begin = 0; begin < is.size(); begin += 37) { // every range gives the same values
            std::vector<float> part(std::min<std::size_t>(is.size() - begin, 41));
            model->view(*tensor)->readInto(4 * begin, std::as_writable_bytes(std::span(part)));
            QVERIFY(std::equal(part.begin(), part.end(), is.begin() + std::ptrdiff_t(begin)));
        }
    }
}

/// Their tensors are parts and no weights, and a sentence says why.
void OnnxTest::packedWeightsThatAreNotDecoded() {
    const auto constants = initializer("w", 2, pb::dims({2, 1, 12}), QByteArray(24, 'a')) +
                           initializer("s", 1, pb::dims({2, 1}), f32s({1, 2}));
    const auto number = [](const char* name, std::uint64_t value) { return pb::attribute(name, pb::number(3, value)); };
    const auto sizes = number("K", 32) + number("N", 2) + number("block_size", 32);
    const auto node = [&](const char* op, const QByteArray& attributes) {
        return pb::node(op, "n", "y",
                        pb::part(1, "x") + pb::part(1, "w") + pb::part(1, "s") + attributes +
                            pb::part(7, "com.microsoft"));
    };
    const auto says = [&](const QByteArray& graph, const char* sentence) {
        const auto model = open(pb::model(constants + graph));
        for (const char* name : {"w", "s"})
            QVERIFY(model->find(name) && model->find(name)->role == TensorRole::Part && !model->find(name)->isWeight());
        QCOMPARE(model->warnings.size(), std::size_t(1));
        QVERIFY2(text(model->warnings[0]).contains(QString::fromUtf8(sentence)), model->warnings[0].c_str());
    };
    says(node("MatMulNBits", sizes + number("bits", 3)),
         "\"w\" is a weight of MatMulNBits but is listed as it is stored: codes of 3 bits are not read");
    says(node("MatMulNBits", sizes + number("bits", 4)),
         "its codes have the shape [2, 1, 12], which is not 32 elements");
    says(node("MatMulNBits", sizes + number("weight_prepacked", 1)), "packed for one kind of device");
    says(node("MatMulNBitsMlp", sizes), "this operator is not decoded");
}

void OnnxTest::scalesAreNoWeights_data() {
    QTest::addColumn<QByteArray>("nodes");
    QTest::addColumn<QString>("why");
    const auto inputs = [](std::initializer_list<const char*> names) {
        QByteArray all;
        for (const char* name : names) all += pb::part(1, name);
        return all;
    };
    const auto to = [](std::uint64_t type) { return pb::attribute("to", pb::number(3, type)); };
    QTest::newRow("an operator of another domain")
        << pb::node("QuantizedLinear", "n", "y", inputs({"x", "w", "s"}) + pb::part(7, "my.ops"))
        << "operators of the domain \"my.ops\" are not decoded";
    QTest::newRow("TensorRT, codes that are packed by hand")
        << pb::node("TRT_INT4DequantizeLinear", "n", "y", inputs({"w", "s"}) + pb::part(7, "trt"))
        << "scales [3, 2] do not fit codes [2, 4] along axis 1";
    QTest::newRow("a cast and a product whose shapes do not fit")
        << pb::node("Cast", "n", "f", inputs({"w"}) + to(1)) + pb::node("Mul", "m", "y", inputs({"f", "s"}))
        << "scales [3, 2] do not fit codes [2, 4]";
    QTest::newRow("a cast and no product")
        << pb::node("Cast", "n", "f", inputs({"w"}) + to(1)) << "its scale is not found";
}

/// What is not decoded is named, and its scales are parts.
void OnnxTest::scalesAreNoWeights() {
    QFETCH(QByteArray, nodes);
    QFETCH(QString, why);
    const auto constants = initializer("w", 3, pb::dims({2, 4}), QByteArray(8, 'a')) +
                           initializer("s", 1, pb::dims({3, 2}), f32s({1, 2, 3, 4, 5, 6}));
    const auto model = open(pb::model(constants + nodes));
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    QCOMPARE(text(model->undecoded[0].name), QStringLiteral("w"));
    QCOMPARE(text(model->undecoded[0].why), why);
    QVERIFY(model->find("w")->role == TensorRole::Part);
    QVERIFY(nodes.contains("\x01s") ? model->find("s")->role == TensorRole::Part : model->find("s")->isWeight());
}

/// A function that calls itself twice would be walked through without end.
void OnnxTest::functionsThatCallThemselves() {
    const auto call = pb::node("F", "n", "y", pb::part(1, "w") + pb::part(1, "s") + pb::part(7, "local"));
    const auto dequantize = pb::node("DequantizeLinear", "d", "w2", pb::part(1, "a") + pb::part(1, "b"));
    QByteArray function = pb::part(1, "F") + pb::part(10, "local") + pb::part(4, "a") + pb::part(4, "b");
    function += pb::part(7, dequantize.mid(2)); // a node of a function has another field number
    for (int i = 0; i < 8; ++i) function += pb::part(7, call.mid(2));
    const auto constants =
        initializer("w", 3, pb::dims({2, 4}), QByteArray(8, 'a')) + initializer("s", 1, pb::dims({}), f32s({2}));
    const auto model = open(pb::model(constants + call) + pb::part(25, function));
    QVERIFY(model->find("w")->derived);
    QCOMPARE(model->tensors.size(), std::size_t(1));
    QVERIFY2(text(model->warnings.at(0)).contains(QStringLiteral("are called so often")), model->warnings[0].c_str());
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
