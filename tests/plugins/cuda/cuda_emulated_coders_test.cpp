// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA decoders and quantizers, run on the host thread by thread (see emulated/). They must give the bits of the
// reference.
#include "kernels/nf4_thresholds.h"
#include "tests/plugins/cuda/exact_memory.h"
#include "tests/plugins/cuda/reference_codes.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>
#include <bit>
#include <cstring>
#include <limits>

using namespace qs::cuda;
using namespace qs::test;

class CudaCodersEmulated : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void dequantizes();
    void quantizes();
    void measures();
    void dequantizesWholeRows();
    void nf4Decisions();
    void roundsToE4m3();
    void quantizesActivations();
    void keepsTheBitsOfDivisions();
};

void CudaCodersEmulated::dequantizes() {
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3"})
        for (const char* scale : {"row", "column", "tensor", "block"}) {
            const AbiProblem problem(
                {.weight = format, .n = 7, .k = 101, .scale = scale, .block = 32, .op = "dequantize"});
            const Plan plan = planFor(problem.problem, {});
            QVERIFY2(!plan.variants.empty(), plan.refusal.c_str());
            const StoredOperands operands(problem, plan);
            const StoredMatrix& matrix = operands.matrix;
            Guarded<float> y(7 * 101);
            QCOMPARE(dequantize(matrix, y.data(), Element::F32, nullptr), 0);
            QVERIFY(y.whole());
            for (std::size_t i = 0; i < problem.dense.size(); ++i) QCOMPARE(y.data()[i], problem.dense[i]);
            Guarded<std::uint16_t> halves(7 * 101), wanted(7 * 101);
            QCOMPARE(dequantize(matrix, halves.data(), Element::Bf16, nullptr), 0);
            QCOMPARE(roundToBf16(y.data(), 7 * 101, wanted.data(), nullptr), 0);
            QVERIFY(halves.bytes == wanted.bytes);
        }
}

void CudaCodersEmulated::quantizes() {
    for (const char* format : {"nf4", "int8", "int4", "fp8_e4m3"})
        for (const std::uint64_t block : {0u, 32u, 64u, 100u}) {
            if (!block && std::string(format) == "nf4") continue;
            const Case c{.weight = format,
                         .n = 5,
                         .k = 201,
                         .scale = block ? "block" : "row",
                         .block = block ? block : 64,
                         .op = "quantize"};
            const AbiProblem problem(c, 5, false);
            const ReferenceCodes expected = referenceCodes(c, problem);
            const Plan plan = planFor(problem.problem, {});
            QVERIFY2(!plan.variants.empty(), (c.name() + ": " + plan.refusal).c_str());
            Guarded<std::uint8_t> codes(std::int64_t(expected.codes.size()));
            Guarded<float> scales(std::int64_t(expected.scales.size()));
            const float* x = problem.source.data();
            if (plan.coder)
                QCOMPARE(quantizeBySearch(x, c.n, c.k, plan.coder->group,
                                          plan.coder->on(plan.coder->thresholds.data(), plan.coder->stored.data()),
                                          codes.data(), scales.data(), nullptr),
                         0);
            else if (plan.weight.isSignedBytes())
                QCOMPARE(quantizeInt8(x, c.n, c.k, expected.block, reinterpret_cast<std::int8_t*>(codes.data()),
                                      scales.data(), nullptr),
                         0);
            else
                QCOMPARE(quantizeNf4(x, c.n, c.k, expected.block, qs::nf4Thresholds().threshold, codes.data(),
                                     scales.data(), nullptr),
                         0);
            QVERIFY(codes.whole() && scales.whole());
            QVERIFY2(std::equal(expected.codes.begin(), expected.codes.end(), codes.bytes.begin()), c.name().c_str());
            QVERIFY2(!std::memcmp(scales.data(), expected.scales.data(), 4 * expected.scales.size()), c.name().c_str());
        }
}

/// Compares the error sums of the quantizers with f64 sums over the same codes. Measuring must not change the codes.
void CudaCodersEmulated::measures() {
    for (const char* format : {"nf4", "int8", "int4", "fp8_e4m3"})
        for (const std::int64_t columns : {201, 1088}) {
            const bool nf4 = std::string(format) == "nf4";
            const Case c{.weight = format, .n = 5, .k = columns, .scale = nf4 ? "block" : "row", .op = "quantize"};
            const AbiProblem problem(c, 5, false);
            const ReferenceCodes expected = referenceCodes(c, problem);
            const Plan plan = planFor(problem.problem, {});
            Guarded<std::uint8_t> codes(std::int64_t(expected.codes.size()));
            Guarded<float> scales(std::int64_t(expected.scales.size()));
            Guarded<double> partials(4 * kMostQuantizerBlocks), totals(4);
            const Measuring measuring{plan.weight.levels.data(), partials.data(), totals.data()};
            const auto source = exact(problem.inputs[0]);
            const auto* x = reinterpret_cast<const float*>(source.data());
            if (plan.coder)
                QCOMPARE(quantizeBySearch(x, c.n, c.k, plan.coder->group,
                                          plan.coder->on(plan.coder->thresholds.data(), plan.coder->stored.data()),
                                          codes.data(), scales.data(), nullptr, measuring),
                         0);
            else if (plan.weight.isSignedBytes())
                QCOMPARE(quantizeInt8(x, c.n, c.k, expected.block, reinterpret_cast<std::int8_t*>(codes.data()),
                                      scales.data(), nullptr, measuring),
                         0);
            else
                QCOMPARE(quantizeNf4(x, c.n, c.k, expected.block, qs::nf4Thresholds().threshold, codes.data(),
                                     scales.data(), nullptr, measuring),
                         0);
            QVERIFY(codes.whole() && scales.whole() && partials.whole() && totals.whole());
            QVERIFY2(std::equal(expected.codes.begin(), expected.codes.end(), codes.bytes.begin()), c.name().c_str());
            double se2 = 0, sw2 = 0, most = 0, top = 0;
            for (std::int64_t row = 0; row < c.n; ++row)
                for (std::int64_t column = 0; column < c.k; ++column) {
                    const double w = double(x[row * c.k + column]);
                    const float level = plan.weight.levels[plan.weight.codeAt(codes.data(), row, column)];
                    const double e = double(level * scales.data()[plan.weight.scaleIndex(row, column)]) - w;
                    se2 += e * e, sw2 += w * w, most = std::max(most, std::fabs(e)), top = std::max(top, std::fabs(w));
                }
            QVERIFY2(std::fabs(totals.data()[0] - se2) <= 1e-13 * se2 && se2 > 0, c.name().c_str());
            QVERIFY2(std::fabs(totals.data()[1] - sw2) <= 1e-13 * sw2, c.name().c_str());
            QCOMPARE(totals.data()[2], most);
            QCOMPARE(totals.data()[3], top);
        }
}

/// A single run of codes over several thread blocks, the last one not full. Also rows loaded and stored four values at
/// a time.
void CudaCodersEmulated::dequantizesWholeRows() {
    struct Scale {
        const char* kind;
        std::uint64_t block;
        bool run;
    };
    constexpr std::int64_t rows = 5, columns = 1120;
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary"})
        for (const auto& [scale, block, run] :
             {Scale{"row", 64, true}, Scale{"tensor", 64, true}, Scale{"block", 32, true}, Scale{"block", 56, true},
              Scale{"block", 64, false}, Scale{"block", 6, false}, Scale{"column", 64, false}}) {
            const Case c{.weight = format, .n = rows, .k = columns, .scale = scale, .block = block, .op = "dequantize"};
            const AbiProblem problem(c);
            const Plan plan = planFor(problem.problem, {});
            QVERIFY2(!plan.variants.empty(), (c.name() + plan.refusal).c_str());
            const StoredOperands operands(problem, plan);
            const StoredMatrix& matrix = operands.matrix;
            const bool single = std::string(format) == "binary";
            for (const Element type : {Element::F32, Element::Bf16})
                QCOMPARE(groupOfRun(matrix, type) != 0, run && !single);
            Guarded<float> y(rows * columns);
            QCOMPARE(dequantize(matrix, y.data(), Element::F32, nullptr), 0);
            QVERIFY(y.whole());
            for (std::size_t i = 0; i < problem.dense.size(); ++i) QCOMPARE(y.data()[i], problem.dense[i]);
            Guarded<std::uint16_t> halves(rows * columns), wanted(rows * columns);
            QCOMPARE(dequantize(matrix, halves.data(), Element::Bf16, nullptr), 0);
            QCOMPARE(roundToBf16(y.data(), rows * columns, wanted.data(), nullptr), 0);
            QVERIFY(halves.bytes == wanted.bytes);
        }
}

/// Blocks of 64 around every threshold, with many scales. Also a NaN: it gets code 0 and does not count for the scale.
void CudaCodersEmulated::nf4Decisions() {
    const auto& t = qs::nf4Thresholds().threshold;
    for (int i = 1; i < 15; ++i) QVERIFY(t[i] - t[i - 1] > 1.0f / 15); // nf4Blocks64 relies on this
    constexpr std::int64_t kRows = 7, kColumns = 320;
    std::vector<float> x(kRows * kColumns);
    for (std::int64_t block = 0; block < kRows * kColumns / 64; ++block) {
        const float bound = std::ldexp(1.0f + float(block) / 77, int(block * 7 % 240) - 120);
        const float divisor = bound + std::numeric_limits<float>::min();
        float* at = x.data() + block * 64;
        for (int i = 0; i < 60; ++i) {
            float v = t[i / 4] * divisor;
            for (int step = 0; step < i % 4; ++step) v = std::nextafter(v, i % 4 == 2 ? 0.0f : 2 * v);
            at[i] = v;
        }
        at[60] = bound, at[61] = -bound, at[62] = 0, at[63] = -0.0f;
    }
    x[20 * 64] = std::numeric_limits<float>::quiet_NaN();
    Guarded<std::uint8_t> codes(kRows * kColumns / 2), blocks(kRows * kColumns / 2);
    Guarded<float> absmax(kRows * kColumns / 64);
    QCOMPARE(quantizeNf4(x.data(), kRows, kColumns, 64, t, codes.data(), absmax.data(), nullptr), 0);
    QVERIFY(codes.whole() && absmax.whole());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const float divisor = absmax.data()[i / 64] + std::numeric_limits<float>::min();
        int wanted = 0;
        for (int j = 0; j < 15; ++j) wanted += x[i] / divisor >= t[j];
        QCOMPARE(codes.data()[i / 2] >> (i % 2 ? 0 : 4) & 15, wanted);
    }
}

/// Every value of the format, values between two of them, and midpoints.
void CudaCodersEmulated::roundsToE4m3() {
    const std::vector<float> table = qs::floatTable(*qs::findFormat("fp8_e4m3"));
    const auto of = [](float x) { return e4m3Of(std::bit_cast<std::uint32_t>(x)); };
    for (unsigned code = 0; code < 0x7f; ++code) {
        QCOMPARE(of(table[code]), code);
        QCOMPARE(of(-table[code]), code | 0x80u);
        if (code == 0x7e) break;
        const float middle = (table[code] + table[code + 1]) / 2;
        QCOMPARE(of(middle), code + (code & 1)); // ties to even
        QCOMPARE(of(std::nextafter(middle, 0.0f)), code);
        QCOMPARE(of(std::nextafter(middle, 1000.0f)), code + 1);
    }
    QCOMPARE(of(std::numeric_limits<float>::denorm_min()), 0u);
    // Rows must be coded as by the arithmetic of the format. A row of zeros has scale 1.
    const Case c{.weight = "fp8_e4m3", .n = 5, .k = 203, .scale = "row", .op = "quantize"};
    AbiProblem problem(c, 5, false);
    std::fill_n(problem.source.begin() + 203, 203, 0.0f);
    problem.source[407] = -0.0f;
    const ReferenceCodes expected = referenceCodes(c, problem);
    Guarded<std::uint8_t> q(16 * 256);
    Guarded<float> scales(16);
    const auto source = exact(problem.source.data(), 4 * problem.source.size());
    QCOMPARE(quantizeRowsE4m3(reinterpret_cast<const float*>(source.data()), 5, 203, 16, 256, q.data(), scales.data(),
                              nullptr),
             0);
    QVERIFY(q.whole() && scales.whole());
    for (int row = 0; row < 16; ++row)
        for (int i = 0; i < 256; ++i)
            QCOMPARE(int(q.data()[row * 256 + i]),
                     row < 5 && i < 203 ? int(expected.codes[std::size_t(row * 203 + i)]) : 0);
    for (int row = 0; row < 16; ++row) QCOMPARE(scales.data()[row], row < 5 ? expected.scales[std::size_t(row)] : 1.0f);
}

/// Ties to even, a scale that is never 0, and zeros in the padding.
void CudaCodersEmulated::quantizesActivations() {
    std::vector<float> x(2 * 300, 0.0f);
    x[0] = 1.0f, x[1] = -2.0f, x[299] = 0.5f;
    Guarded<std::int8_t> q(16 * 384);
    Guarded<float> scales(16);
    QCOMPARE(quantizeRows(x.data(), 2, 300, 16, 384, q.data(), scales.data(), nullptr), 0);
    QVERIFY(q.whole() && scales.whole());
    QCOMPARE(scales.data()[0], 2.0f / 127);
    QCOMPARE(scales.data()[1], std::numeric_limits<float>::min());
    for (int i = 0; i < 16 * 384; ++i) QCOMPARE(int(q.data()[i]), i == 0 ? 64 : i == 1 ? -127 : i == 299 ? 32 : 0);
    const std::vector<std::int8_t> given = {1, -2, 3, 4, -128, 6};
    Guarded<std::int8_t> padded(3 * 8);
    QCOMPARE(padBytes(given.data(), 2, 3, 3, 8, padded.data(), nullptr), 0);
    QVERIFY(padded.whole());
    for (int i = 0; i < 24; ++i)
        QCOMPARE(int(padded.data()[i]), i < 16 && i % 8 < 3 ? int(given[std::size_t(i / 8 * 3 + i % 8)]) : 0);
}

/// Rows that threads keep in registers and rows that they read twice. Scales from the smallest normal number to nearly
/// the largest float; values at and around every tie. Codes must equal those of a division, and the sums must be right.
void CudaCodersEmulated::keepsTheBitsOfDivisions() {
    for (const std::int64_t columns : {999, 1020, 1028, 2052, 8196}) {
        const std::int64_t rows = columns > 5000 ? 3 : 40 / kThinning, depth = roundUp(columns, 128);
        QCOMPARE(keepsRows(columns, columns, columns), columns > 1024);
        std::vector<float> x(std::size_t(rows * columns));
        for (std::int64_t row = 0; row < rows; ++row) {
            const float top = std::ldexp(1.0f + float(row * 37 % 64) / 63.99f, int(row * 83 % 253) - 126);
            const float scale = top / 127 + std::numeric_limits<float>::min();
            float* at = x.data() + row * columns;
            for (std::int64_t i = 0; i < columns; ++i) {
                float v = (float(i % 254) / 2 - 63.25f) * scale;
                for (int step = 0; step < i / 254 % 5; ++step) v = std::nextafter(v, i % 2 ? 2 * v : 0.0f);
                at[i] = v;
            }
            at[columns / 2] = -top, at[columns - 1] = 0;
        }
        Guarded<std::int8_t> q(rows * columns);
        Guarded<std::uint8_t> e4m3(rows * depth);
        Guarded<float> scales(rows), e4m3Scales(rows);
        Guarded<double> partials(4 * kMostQuantizerBlocks), totals(4);
        QCOMPARE(quantizeInt8(x.data(), rows, columns, columns, q.data(), scales.data(), nullptr,
                              {nullptr, partials.data(), totals.data()}),
                 0);
        QCOMPARE(quantizeRowsE4m3(x.data(), rows, columns, rows, depth, e4m3.data(), e4m3Scales.data(), nullptr), 0);
        QVERIFY(q.whole() && e4m3.whole() && scales.whole() && totals.whole());
        double se2 = 0, top = 0;
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < depth; ++i) {
                const bool inside = i < columns;
                const float value = inside ? x[std::size_t(row * columns + i)] : 0.0f;
                const float small = std::clamp(value / e4m3Scales.data()[row], -kE4m3Most, kE4m3Most);
                QCOMPARE(unsigned(e4m3.data()[row * depth + i]), e4m3Of(std::bit_cast<std::uint32_t>(small)));
                if (!inside) continue;
                const float scale = scales.data()[row];
                const int wanted = int(std::clamp(std::nearbyint(value / scale), -127.0f, 127.0f));
                QCOMPARE(int(q.data()[row * columns + i]), wanted);
                const double e = double(float(wanted) * scale) - double(value);
                se2 += e * e, top = std::max(top, std::fabs(double(value)));
            }
        QVERIFY(std::fabs(totals.data()[0] - se2) <= 1e-12 * se2);
        QCOMPARE(totals.data()[3], top);
    }
}

QS_TEST(CudaCodersEmulated)
#include "cuda_emulated_coders_test.moc"
