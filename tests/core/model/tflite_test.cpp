// SPDX-License-Identifier: GPL-3.0-or-later
// TensorFlow Lite: models must read as in its interpreter, also with quantized tensors; and faulty files.
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "core/model/tflite/tflite.h"
#include "made_file.h"
#include "real_file.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <tflite_schema_generated.h>

using namespace qs;
using qs::test::hex;
namespace wire = qs::tflite::wire;

class TfliteTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void asTheInterpreterReads_data();
    void asTheInterpreterReads();
    void everyRangeOfAQuantizedTensor();
    void partsOfAQuantizedTensor();
    void types_data();
    void types();
    void packedIntegers_data();
    void packedIntegers();
    void isShownAsItIs_data();
    void isShownAsItIs();
    void lies_data();
    void lies();
    void oneBadEntryLeavesTheRest();
    void blocksWithoutTheirScales_data();
    void blocksWithoutTheirScales();
    void everyPrefixOfAFile();
    void everyWordOfAFile();
    void bytesBehindTheFlatBuffer();
    void names();

private:
    QString putModel(const QByteArray& bytes) { return put(folder_->path(), QStringLiteral("m.tflite"), bytes); }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

using Shape = std::vector<int>;

struct Made {
    QByteArray name = "w";
    int type = 9;
    Shape shape{4};
    QByteArray bytes = QByteArray("\x01\x02\xff\x80", 4);
    std::vector<float> scales{};
    std::vector<std::int64_t> zeros{};
    int axis = 0, details = 0, blockScales = -1, block = 2; ///< `blockScales`: index of a tensor; -1: no details
    unsigned buffer = 1;
    std::uint64_t offset = 0, size = 0; ///< of data outside the flatbuffer
    bool isSparse = false;
};

/// A model with these tensors, each with its own buffer.
QByteArray made(const std::vector<Made>& tensors, int subgraphs = 1) {
    flatbuffers::FlatBufferBuilder b;
    std::vector<flatbuffers::Offset<wire::Buffer>> buffers{wire::CreateBuffer(b)};
    std::vector<flatbuffers::Offset<wire::SubGraph>> graphs;
    for (int g = 0; g < subgraphs; ++g) {
        std::vector<flatbuffers::Offset<wire::Tensor>> list;
        for (const Made& t : tensors) {
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(t.bytes.constData());
            const auto at = buffers.size();
            buffers.push_back(wire::CreateBuffer(
                b, t.bytes.isEmpty() ? 0 : b.CreateVector(bytes, std::size_t(t.bytes.size())), t.offset, t.size));
            flatbuffers::Offset<wire::Quantization> quantization;
            if (!t.scales.empty() || t.details > 0)
                quantization = wire::CreateQuantization(
                    b, b.CreateVector(t.scales), b.CreateVector(t.zeros), wire::Details(t.details),
                    t.blockScales < 0 ? 0 : wire::CreateBlockwise(b, t.blockScales, -1, t.block).Union(), t.axis);
            const auto name = b.CreateString(t.name.constData(), std::size_t(t.name.size()));
            list.push_back(wire::CreateTensor(b, b.CreateVector(t.shape), std::int8_t(t.type),
                                              t.buffer == 1 ? unsigned(at) : t.buffer, name, quantization,
                                              t.isSparse ? wire::CreateSparsity(b) : 0));
        }
        graphs.push_back(wire::CreateSubGraph(b, b.CreateVector(list), g == 2 ? b.CreateString("decode") : 0));
    }
    const auto model = wire::CreateModel(b, 3, b.CreateVector(graphs), b.CreateString("made"), b.CreateVector(buffers));
    b.Finish(model, "TFL3");
    return {reinterpret_cast<const char*>(b.GetBufferPointer()), int(b.GetSize())};
}

} // namespace

void TfliteTest::asTheInterpreterReads_data() {
    QTest::addColumn<QString>("file");
    QTest::newRow("quantized tensors") << QStringLiteral("quantized");
    QTest::newRow("scales for blocks") << QStringLiteral("blocks");
    QTest::newRow("basic-pitch, a trained network") << QStringLiteral("basic_pitch");
}

// The hashes are of the values that LiteRT's interpreter reads; see tests/data/tflite/README.md.
void TfliteTest::asTheInterpreterReads() {
    QFETCH(QString, file);
    const QString data = QStringLiteral(QS_TEST_DATA "/tflite/");
    QString path = data + file + QStringLiteral(".tflite");
    if (!QFile::exists(path)) path = putModel(inflated(path + QStringLiteral(".zst")));
    const auto model = opened(path);
    QCOMPARE(text(model->format), QStringLiteral("tflite"));
    compareWithSums(*model, data + file + QStringLiteral(".sha256"));
}

void TfliteTest::everyRangeOfAQuantizedTensor() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/tflite/quantized.tflite"));
    for (const auto& tensor : model->tensors) {
        const QByteArray all = valuesOf(*model, tensor);
        for (std::uint64_t begin = 0; begin < std::min<std::uint64_t>(tensor.bytes, 80); begin += 3)
            for (const std::uint64_t n : {1, 4, 7, 40}) {
                if (begin + n > tensor.bytes) continue;
                QByteArray part(int(n), 'x');
                tensor.derived->read(begin, std::as_writable_bytes(std::span(part.data(), std::size_t(n))));
                QCOMPARE(part, all.mid(int(begin), int(n)));
            }
    }
}

void TfliteTest::partsOfAQuantizedTensor() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/tflite/quantized.tflite"));
    const auto* tensor = model->find("int8/middle axis");
    QVERIFY(tensor && tensor->derived);
    QCOMPARE(QByteArray(tensor->typeId()), QByteArray("TFLite INT8"));
    QCOMPARE(text(tensor->derived->description()),
             QStringLiteral("TensorFlow Lite, 3 scales along axis 1, zero points"));
    const auto parts = tensor->derived->parts();
    QCOMPARE(parts.size(), std::size_t(3));
    QCOMPARE(QByteArray(parts[0].typeId()), QByteArray("I8"));
    QCOMPARE(tensor->derived->storedBytes(), std::uint64_t(4 * 3 * 5 + 3 * 4 + 3 * 8));
    QVERIFY(model->view(parts[0]));
}

void TfliteTest::types_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("id");
    const std::tuple<int, int, const char*> rows[] = {
        {0, 4, "F32"},  {1, 2, "F16"},   {2, 4, "I32"},      {3, 1, "U8"},      {4, 8, "I64"},  {6, 1, "BOOL"},
        {7, 2, "I16"},  {8, 8, "C64"},   {9, 1, "I8"},       {10, 8, "F64"},    {12, 8, "U64"}, {15, 4, "U32"},
        {16, 2, "U16"}, {18, 2, "BF16"}, {21, 1, "F8_E4M3"}, {22, 1, "F8_E5M2"}};
    for (const auto& [type, size, id] : rows) QTest::newRow(id) << type << QByteArray(2 * size, '\1') << QByteArray(id);
}

void TfliteTest::types() {
    QFETCH(int, type);
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, id);
    Made made1;
    made1.type = type, made1.shape = {2}, made1.bytes = bytes;
    const auto model = opened(putModel(made({made1})));
    QCOMPARE(model->tensors.size(), std::size_t(1));
    QCOMPARE(QByteArray(model->tensors[0].typeId()), id);
    QCOMPARE(valuesOf(*model, model->tensors[0]), bytes);
}

void TfliteTest::packedIntegers_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<std::vector<float>>("values");
    QTest::addColumn<QByteArray>("id");
    using Values = std::vector<float>;
    QTest::newRow("INT4") << 17
                          << hex("3f80"
                                 "07")
                          << Values{-1, 3, 0, -8, 7} << QByteArray("TFLite INT4");
    QTest::newRow("UINT4") << 20
                           << hex("3f80"
                                  "07")
                           << Values{15, 3, 0, 8, 7} << QByteArray("TFLite UINT4");
    QTest::newRow("INT2") << 19
                          << hex("e4"
                                 "01")
                          << Values{0, 1, -2, -1, 1} << QByteArray("TFLite INT2");
}

// Low bits first, as in the interpreter. The last byte may be half used.
void TfliteTest::packedIntegers() {
    QFETCH(int, type);
    QFETCH(QByteArray, bytes);
    QFETCH(std::vector<float>, values);
    QFETCH(QByteArray, id);
    Made one;
    one.type = type, one.shape = {int(values.size())}, one.bytes = bytes, one.scales = {0.5f}, one.zeros = {2};
    const auto model = opened(putModel(made({one})));
    const auto& tensor = model->tensors.at(0);
    QCOMPARE(QByteArray(tensor.typeId()), id);
    QCOMPARE(tensor.derived->storedBytes(), std::uint64_t(bytes.size()) + 4 + 8);
    for (std::size_t begin = 0; begin < values.size(); ++begin)
        for (std::size_t end = begin + 1; end <= values.size(); ++end) {
            std::vector<float> read(end - begin);
            tensor.derived->read(begin * 4, std::as_writable_bytes(std::span(read)));
            for (std::size_t i = 0; i < read.size(); ++i) QCOMPARE(read[i], (values[begin + i] - 2) / 2);
        }
}

void TfliteTest::isShownAsItIs_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("id"); // none: not among the tensors
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, auto change, const char* id, const char* says) {
        Made one;
        change(one);
        QTest::newRow(name) << made({one}) << QByteArray(id) << QString::fromUtf8(says);
    };
    const std::vector<float> four{1, 2, 3, 4};
    row(
        "no scales", [](Made&) {}, "I8", "");
    row(
        "one scale", [](Made& m) { m.scales = {2}; }, "TFLite INT8", "");
    row(
        "a scale for each channel", [&](Made& m) { m.scales = four; }, "TFLite INT8", "");
    row(
        "one zero point for all", [&](Made& m) { m.scales = four, m.zeros = {3}; }, "TFLite INT8", "");
    row(
        "no data", [](Made& m) { m.bytes.clear(); }, "", "");
    row(
        "scales of another number",
        [](Made& m) {
            m.scales = {1, 2};
        },
        "I8", "scales that do not fit its shape");
    row(
        "an axis that it has not", [&](Made& m) { m.scales = four, m.axis = 1; }, "I8", "scales that do not fit");
    row(
        "a negative axis", [&](Made& m) { m.scales = four, m.axis = -1; }, "I8", "scales that do not fit");
    row(
        "zero points of another number",
        [&](Made& m) {
            m.scales = four, m.zeros = {1, 2, 3};
        },
        "I8", "zero points that do not fit");
    row(
        "blocks", [](Made& m) { m.details = 2; }, "I8", "is quantized in blocks");
    row(
        "a way of its own", [](Made& m) { m.details = 1; }, "I8", "in a way of its own");
    row(
        "sparse", [](Made& m) { m.isSparse = true; }, "", "is sparse");
    row(
        "texts", [](Made& m) { m.type = 5; }, "", "holds no numbers that are read");
    row(
        "INT4 without scales", [](Made& m) { m.type = 17, m.shape = {8}; }, "", "4-bit integers without scales");
    row(
        "UINT4 without scales", [](Made& m) { m.type = 20, m.shape = {7}; }, "", "4-bit integers without scales");
    row(
        "INT2 without scales", [](Made& m) { m.type = 19, m.shape = {13}; }, "", "2-bit integers without scales");
    row(
        "FLOAT32 with scales", [](Made& m) { m.type = 0, m.shape = {1}, m.scales = {2}; }, "F32", "");
}

void TfliteTest::isShownAsItIs() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, id);
    QFETCH(QString, says);
    const auto model = opened(putModel(bytes));
    QCOMPARE(model->tensors.size(), std::size_t(id.isEmpty() ? 0 : 1));
    if (!id.isEmpty()) QCOMPARE(QByteArray(model->tensors[0].typeId()), id);
    QCOMPARE(model->warnings.size(), std::size_t(says.isEmpty() ? 0 : 1));
    if (!says.isEmpty()) QVERIFY2(text(model->warnings[0]).contains(says), model->warnings[0].c_str());
}

void TfliteTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, auto change, const char* says) {
        Made one;
        change(one);
        QTest::newRow(name) << made({one}) << QString::fromUtf8(says);
    };
    row(
        "a later type", [](Made& m) { m.type = 99; }, "it is of type 99 of a later version");
    row(
        "too few bytes", [](Made& m) { m.shape = {5}; }, "INT8 of [5] needs 5 bytes, its buffer has 4");
    row(
        "too many bytes", [](Made& m) { m.shape = {3}; }, "INT8 of [3] needs 3 bytes, its buffer has 4");
    row(
        "INT4", [](Made& m) { m.type = 17, m.shape = {9}, m.scales = {1}; }, "INT4 of [9] needs 5 bytes");
    row(
        "negative dimension", [](Made& m) { m.shape = {-4}; }, "a dimension of -4");
    row(
        "overflow",
        [](Made& m) {
            m.shape = {1 << 30, 1 << 30, 1 << 30};
        },
        "number of elements overflows");
    row(
        "overflow beside a zero",
        [](Made& m) {
            m.shape = {0, 1 << 30, 1 << 30, 1 << 30};
        },
        "overflows");
    row(
        "33 dimensions", [](Made& m) { m.shape.assign(33, 1); }, "more than 32 dimensions");
    row(
        "a buffer that is not there", [](Made& m) { m.buffer = 7; }, "has buffer 7 of 2");
    row(
        "buffer 2^32-1", [](Made& m) { m.buffer = ~0u; }, "has buffer 4294967295 of 2");
    row(
        "bytes in two places", [](Made& m) { m.offset = 16, m.size = 4; }, "has bytes in two places");
    row(
        "bytes behind the end", [](Made& m) { m.bytes.clear(), m.offset = 100000, m.size = 4; },
        "has 4 bytes from byte 100000 on, the file has");
    row(
        "a size that overflows", [](Made& m) { m.bytes.clear(), m.offset = 16, m.size = ~std::uint64_t(0); },
        "has 18446744073709551615 bytes from byte 16 on");
    row(
        "an offset that overflows", [](Made& m) { m.bytes.clear(), m.offset = ~std::uint64_t(0), m.size = 4; },
        "from byte 18446744073709551615 on");
    row(
        "a name that is not UTF-8", [](Made& m) { m.name = hex("ff"); }, "is not text");
    row(
        "a name with a NUL", [](Made& m) { m.name = QByteArray("a\0b", 3); }, "is not text");
    QTest::newRow("32,769 tensors") << made(std::vector<Made>(32769)) << QStringLiteral("more than 32768 tensors");
    QTest::newRow("the root beyond the file")
        << QByteArray("\xff\xff\0\0TFL3", 8) + zeros(64) << QStringLiteral("it is broken");
    QTest::newRow("only the magic") << QByteArray("\x1c\0\0\0TFL3", 8) << QStringLiteral("it is broken");
    // Tables may be shared: one tensor with a long name, referenced a hundred thousand times.
    flatbuffers::FlatBufferBuilder b;
    const auto data = b.CreateVector(std::vector<std::uint8_t>(4));
    const auto buffers = b.CreateVector(std::vector{wire::CreateBuffer(b), wire::CreateBuffer(b, data)});
    const auto tensor = wire::CreateTensor(b, b.CreateVector(Shape{4}), 9, 1, b.CreateString(std::string(100000, 'n')));
    const auto graph = wire::CreateSubGraph(b, b.CreateVector(std::vector(100000, tensor)));
    b.Finish(wire::CreateModel(b, 3, b.CreateVector(std::vector{graph}), 0, buffers), "TFL3");
    QTest::newRow("one table many times")
        << QByteArray(reinterpret_cast<const char*>(b.GetBufferPointer()), int(b.GetSize()))
        << QStringLiteral("its names are longer than the file");
}

void TfliteTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    const QString path = putModel(bytes);
    const auto model = openModel(path.toStdString());
    QVERIFY(!model);
    const QString why = text(model.error().message);
    QVERIFY2(why.contains(says) && why.startsWith(path) && why.endsWith(u'.') && !why.contains(u'\n'), qPrintable(why));
}

/// The other tensor can be read; the bad ones are listed, have no values, and a sentence each says why.
void TfliteTest::oneBadEntryLeavesTheRest() {
    Made good, later, short1, buffer, negative;
    good.name = "good";
    later.name = "later", later.type = 99;
    short1.name = "short", short1.shape = {5};
    buffer.name = "buffer", buffer.buffer = 99;
    negative.name = "negative", negative.shape = {-4};
    const auto model = opened(putModel(made({later, good, short1, buffer, negative})));
    QCOMPARE(model->tensors.size(), std::size_t(5));
    for (const auto& tensor : model->tensors) QCOMPARE(tensor.isUnread(), tensor.name != "good");
    QCOMPARE(valuesOf(*model, *model->find("good")), good.bytes);
    QCOMPARE(model->warnings.size(), std::size_t(4));
    for (const char* says : {"type 99 of a later version", "INT8 of [5] needs 5 bytes, its buffer has 4",
                             "has buffer 99 of", "a dimension of -4"})
        QVERIFY2(
            std::ranges::any_of(model->warnings, [&](const auto& one) { return one.find(says) != std::string::npos; }),
            says);
}

void TfliteTest::blocksWithoutTheirScales_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("scales");
    QTest::addColumn<int>("block");
    QTest::addColumn<QString>("why");
    QTest::newRow("too few scales") << 9 << 1 << 1 << "it has no tensor of 8 scales";
    QTest::newRow("too few scales of 4-bit codes") << 17 << 1 << 1 << "it has no tensor of 16 scales";
    QTest::newRow("itself as scales") << 9 << 0 << 1 << "it has no tensor of 8 scales";
    QTest::newRow("no such tensor") << 9 << 7 << 2 << "it has no tensor of 4 scales";
    QTest::newRow("no block size") << 9 << 1 << 0 << "blocks of 0 do not fit [4, 2]";
    QTest::newRow("a negative block size") << 9 << 1 << -2 << "blocks of -2 do not fit [4, 2]";
    QTest::newRow("another block size") << 9 << 1 << 3 << "blocks of 3 do not fit [4, 2]";
}

// Scales are not weights, decoded or not.
void TfliteTest::blocksWithoutTheirScales() {
    QFETCH(int, type);
    QFETCH(int, scales);
    QFETCH(int, block);
    QFETCH(QString, why);
    Made codes, one, other;
    codes.type = type, codes.shape = {4, type == 9 ? 2 : 4}, codes.bytes = QByteArray(8, '\x31');
    codes.details = 2, codes.blockScales = scales, codes.block = block;
    one.name = "table", one.type = 0, one.shape = {2, 2}, one.bytes = QByteArray(16, '\0');
    other.name = "other", other.type = 0, other.shape = {2, 2}, other.bytes = one.bytes;
    const auto model = opened(putModel(made({codes, one, other})));
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    QCOMPARE(text(model->undecoded[0].name), QStringLiteral("w"));
    QCOMPARE(text(model->undecoded[0].why), why);
    QVERIFY(model->find("w")->role == TensorRole::Part);
    QCOMPARE(model->find("table")->role == TensorRole::Part, scales == 1);
    QVERIFY(model->find("other")->role != TensorRole::Part);
    QCOMPARE(model->warnings.size(), std::size_t(1));
}

void TfliteTest::everyPrefixOfAFile() {
    const QByteArray whole = bytesOf(QStringLiteral(QS_TEST_DATA "/tflite/quantized.tflite"));
    for (int n = 0; n < whole.size(); ++n) {
        const std::vector<char> copy(whole.begin(), whole.begin() + n);
        const auto parsed = tflite::parse(std::as_bytes(std::span(copy)), copy.size(), "m.tflite");
        if (parsed)
            for (const auto& tensor : parsed->tensors) QVERIFY(tensor.info.offset + tensor.info.bytes <= copy.size());
    }
}

// Replaces each word of a file by some values. In all cases tensors must lie inside the file.
void TfliteTest::everyWordOfAFile() {
    const QByteArray whole = bytesOf(QStringLiteral(QS_TEST_DATA "/tflite/quantized.tflite"));
    for (int at = 0; at + 4 <= whole.size(); at += 4)
        for (const std::uint32_t word : {0u, 1u, 0x7fffffffu, 0xfffffff0u, 0x00010000u}) {
            std::vector<char> copy(whole.begin(), whole.end());
            std::memcpy(copy.data() + at, &word, 4);
            const auto parsed = tflite::parse(std::as_bytes(std::span(copy)), copy.size(), "m.tflite");
            if (!parsed) continue;
            for (const auto& tensor : parsed->tensors) {
                QVERIFY(tensor.info.offset <= copy.size() && tensor.info.bytes <= copy.size() - tensor.info.offset);
                if (!tensor.quantized) continue;
                const auto& q = *tensor.quantized;
                QVERIFY(q.scales.offset + 4 * q.scales.count <= copy.size());
                QVERIFY(q.zeroPoints.offset + 8 * q.zeroPoints.count <= copy.size());
            }
        }
}

void TfliteTest::bytesBehindTheFlatBuffer() {
    Made one;
    one.bytes.clear();
    const int length = made({one}).size() + 64;
    one.offset = std::uint64_t(length), one.size = 4;
    QByteArray bytes = made({one});
    QVERIFY(bytes.size() <= length);
    bytes += zeros(length - bytes.size()) + hex("0a0b0c0d");
    const auto model = opened(putModel(bytes));
    QCOMPARE(valuesOf(*model, model->tensors.at(0)), hex("0a0b0c0d"));
    QCOMPARE(model->tensors[0].offset, std::uint64_t(length));
}

void TfliteTest::names() {
    Made unnamed;
    unnamed.name.clear();
    const auto model = opened(putModel(made({Made{}, unnamed, Made{}}, 3)));
    QStringList names;
    for (const auto& tensor : model->tensors) names += text(tensor.name);
    QCOMPARE(names.size(), 9);
    for (const char* name :
         {"w", "w #2", "unnamed_1", "subgraph_1/w", "subgraph_1/w #2", "decode/w", "decode/unnamed_1"})
        QVERIFY2(names.contains(QString::fromUtf8(name)), qPrintable(names.join(u' ')));
    QVERIFY(text(model->warnings.at(0)).contains(QStringLiteral("have the name of another")));
    QCOMPARE(model->files.at(0).metadata.at("description"), std::string("made"));
}

QS_TEST(TfliteTest)
#include "tflite_test.moc"
