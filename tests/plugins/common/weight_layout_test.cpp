// SPDX-License-Identifier: GPL-3.0-or-later
// The reader of stored weights that all backends share: every code, level and scale is found, every contradiction refused.
#include "plugins/common/weight_layout.h"
#include "tests/plugins/support/abi_problem.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs::plugin;
using namespace qs::test;

class WeightLayoutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsStoredCodes_data();
    void readsStoredCodes();
    void readsPlanes_data();
    void readsPlanes();
    void refusesContradictions();
};

void WeightLayoutTest::readsStoredCodes_data() {
    QTest::addColumn<QString>("format");
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3"})
        QTest::addRow("%s", format) << QString::fromLatin1(format);
}
void WeightLayoutTest::readsStoredCodes() {
    QFETCH(QString, format);
    for (const char* scale : {"row", "column", "tensor", "block"})
        for (const bool kn : {false, true}) {
            const AbiProblem problem(
                {.weight = format.toStdString(), .n = 5, .k = 67, .kn = kn, .scale = scale, .block = 32}, 1, false);
            const std::int64_t rows = kn ? 67 : 5, columns = kn ? 5 : 67;
            WeightLayout layout;
            QCOMPARE(readWeightLayout(*problem.problem.weight, rows, columns, layout), std::string());
            QCOMPARE(std::string(layout.dtype), std::string(problem.inputs[0]->dtype));
            QCOMPARE(layout.weightBytes(), problem.inputs[0]->bytes);
            QCOMPARE(4 * layout.scaleCount, problem.inputs[1]->bytes);
            const auto* bytes = static_cast<const std::uint8_t*>(problem.inputs[0]->data);
            const auto* scales = static_cast<const float*>(problem.inputs[1]->data);
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < columns; ++c)
                    QCOMPARE(layout.levels[layout.codeAt(bytes, r, c)] * scales[layout.scaleIndex(r, c)],
                             problem.dense[std::size_t(r * columns + c)]);
        }
}

namespace {

/// A format without scales: `bits`-bit integers, value = code.
qs_format integers(std::uint32_t bits, const char* packing) {
    qs_format format{};
    format.struct_size = sizeof format, format.format = "int4", format.bits = bits, format.packing = packing;
    format.scale_dtype = format.zero_dtype = "none";
    format.pack_axis = 1, format.block_axis = format.channel_axis = -1;
    return format;
}

} // namespace

void WeightLayoutTest::readsPlanes_data() {
    QTest::addColumn<int>("bits");
    for (const int bits : {1, 2, 4}) QTest::addRow("%d", bits) << bits;
}
/// Bits p * bits ... of byte j are code p * (bytes of a row) + j.
void WeightLayoutTest::readsPlanes() {
    QFETCH(int, bits);
    const int perByte = 8 / bits, columns = 3 * perByte;
    WeightLayout layout;
    QCOMPARE(readWeightLayout(integers(unsigned(bits), "planar"), 2, columns, layout), std::string());
    QCOMPARE(layout.rowBytes, std::int64_t(3));
    for (int code = 0; code < columns; ++code) {
        std::uint8_t bytes[6] = {};
        bytes[3 + code % 3] = std::uint8_t(1u << (code / 3 * bits));
        for (int c = 0; c < columns; ++c) QCOMPARE(layout.codeAt(bytes, 1, c), unsigned(c == code));
    }
    QVERIFY(!readWeightLayout(integers(unsigned(bits), "planar"), 2, columns + 1, layout).empty());
}

void WeightLayoutTest::refusesContradictions() {
    const AbiProblem problem({.weight = "nf4", .n = 4, .k = 64}, 1, false);
    const auto reasonOf = [&](auto&& change, std::int64_t rows = 4, std::int64_t columns = 64) {
        qs_format format = *problem.problem.weight;
        change(format);
        WeightLayout layout;
        return readWeightLayout(format, rows, columns, layout);
    };
    QCOMPARE(reasonOf([](qs_format&) {}), std::string());
    const auto refused = [&](const char* what, auto&& change) { QVERIFY2(!reasonOf(change).empty(), what); };
    QVERIFY(!reasonOf([](qs_format&) {}, 0).empty() && !reasonOf([](qs_format&) {}, 4, -1).empty());
    refused("zero points", [](qs_format& f) { f.zero_dtype = "u8"; });
    refused("scales", [](qs_format& f) { f.scale_dtype = "f64"; });
    refused("blocks without scales", [](qs_format& f) { f.scale_dtype = "none"; });
    refused("block axis", [](qs_format& f) { f.block_axis = 2; });
    refused("no block axis", [](qs_format& f) { f.block_axis = -1; });
    refused("channel axis", [](qs_format& f) { f.block = 0, f.channel_axis = 2; });
    refused("a huge block", [](qs_format& f) { f.block = std::uint64_t(1) << 40; });
    refused("bits", [](qs_format& f) { f.bits = 3; });
    refused("packing", [](qs_format& f) { f.packing = "spiral"; });
    refused("packing of other bits", [](qs_format& f) { f.packing = "quad_lo_first"; });
    refused("pack axis", [](qs_format& f) { f.pack_axis = 0; });
    refused("padding", [](qs_format& f) { f.row_multiple = std::uint64_t(1) << 40; });
    refused("a long codebook", [](qs_format& f) { f.codebook_n = 17; });
    refused("an unknown format", [](qs_format& f) { f.format = "qx9", f.codebook = nullptr; });
    refused("no format", [](qs_format& f) { f.format = nullptr, f.codebook = nullptr; });
    refused("bits of f32", [](qs_format& f) { f.format = "f32", f.packing = "none"; });
    refused("packed f32", [](qs_format& f) { f.format = "f32", f.bits = 32; });
    qs_format bias = integers(4, "pair_lo_first");
    bias.code_bias = 300;
    WeightLayout layout;
    QVERIFY(!readWeightLayout(bias, 4, 64, layout).empty());
    // A codebook shorter than its codes: the other codes are 0.
    QCOMPARE(reasonOf([](qs_format& f) { f.codebook_n = 3; }), std::string());
}

QS_TEST(WeightLayoutTest)
#include "weight_layout_test.moc"
