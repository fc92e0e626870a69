// SPDX-License-Identifier: GPL-3.0-or-later
// The device's kernels themselves, run on the host thread by thread (see emulated/): products against f64, decoders and
// quantizers against the reference's bits. What a device alone can tell is left to cuda_check.
#include "kernels/cuda/kernels.h"
#include "kernels/nf4_thresholds.h"
#include "plugins/cuda/plan.h"
#include "tests/plugins/cuda/reference_codes.h"
#include "tests/plugins/cuda/weight_rows.h"

#include <QtTest>
#include <bit>
#include <cstring>
#include <limits>

using namespace qs::cuda;
using namespace qs::test;

namespace {

/// Made of the elements, each NaN before it is written; the last of them are nobody's.
template<class T> struct Guarded {
    static constexpr std::size_t kGuard = 64;
    explicit Guarded(std::int64_t count) : bytes((std::size_t(count) + kGuard) * sizeof(T), 0xff) {}
    T* data() { return reinterpret_cast<T*>(bytes.data()); }
    bool whole() const {
        return std::all_of(bytes.end() - kGuard * sizeof(T), bytes.end(), [](unsigned char b) { return b == 0xff; });
    }
    std::vector<unsigned char> bytes;
};

struct Product {
    const Case& c;
    const AbiProblem problem;
    Plan plan;
    explicit Product(const Case& c) : c(c), problem(c, unsigned(c.m + 3 * c.n + 7 * c.k)) {
        plan = planFor(problem.problem, {"none", "none"});
    }

    /// As the backend's Product::run() does it; what is wrong, or empty.
    std::string run(const VariantRow& row) const {
        const bool large = row.path == Path::Large, bf16 = c.act == "bf16", outBf16 = c.out == "bf16";
        const Stored& stored = plan.weight;
        const TiledWeight w =
            tiled(stored, *plan.tiling, c.kn, c.n, c.k, static_cast<const std::uint8_t*>(problem.inputs[0]->data),
                  stored.scaleCount ? static_cast<const float*>(problem.inputs[1]->data) : nullptr);
        const std::int64_t rows = large ? roundUp(c.m, 128) : c.m;
        Guarded<std::uint16_t> x(rows * w.depth);
        padActivations(problem.acts[0]->data, bf16 ? Element::Bf16 : Element::F32, c.m, c.k, rows, w.depth, x.data(),
                       nullptr);
        if (!x.whole()) return "padding wrote beyond x";
        Guarded<float> y32(outBf16 ? 0 : c.m * c.n);
        Guarded<std::uint16_t> y16(outBf16 ? c.m * c.n : 0);
        const auto* bias = c.bias ? static_cast<const float*>(problem.inputs.back()->data) : nullptr;
        const Target to{outBf16 ? static_cast<void*>(y16.data()) : y32.data(), outBf16, bias, c.m, c.n};
        const DeviceWeight weight{w.codes.data(), w.scales.data(), w.levels.data(), w.bits, w.mode, w.block, c.n,
                                  w.depth,        w.tiles};
        const int code = large ? largeProduct(weight, x.data(), to, nullptr)
                               : skinnyProduct(weight, x.data(), skinnyShape(c.m, c.k), to, nullptr);
        if (code) return "launch " + std::to_string(code);
        if (!y32.whole() || !y16.whole()) return "wrote beyond the result";
        std::vector<float> y(std::size_t(c.m * c.n));
        for (std::size_t i = 0; i < y.size(); ++i)
            y[i] = outBf16 ? std::bit_cast<float>(std::uint32_t(y16.data()[i]) << 16) : y32.data()[i];
        const double error = nmse(y, problem.reference), limit = nmseLimit(row, problem.problem);
        return error <= limit ? std::string() : "NMSE " + std::to_string(error) + " above " + std::to_string(limit);
    }
};

} // namespace

class CudaEmulated : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void multiplies_data();
    void multiplies();
    void dequantizes();
    void dequantizesWholeRows();
    void quantizes();
    void nf4Decisions();
    void quantizesActivations();
    void finishesIntegers();
};

void CudaEmulated::multiplies_data() { addWeightRows(); }
void CudaEmulated::multiplies() {
    QFETCH(QString, format);
    QFETCH(bool, kn);
    QFETCH(QString, scale);
    struct Shape {
        std::int64_t m, n, k;
        std::uint64_t block;
    };
    bool skinny = false, large = false;
    for (const auto& [m, n, k, block] : {Shape{1, 37, 200, 32}, Shape{3, 16, 128, 64}, Shape{9, 130, 300, 16},
                                         Shape{20, 33, 500, 128}, Shape{33, 65, 130, 48}, Shape{130, 17, 65, 64}}) {
        const Case c{.weight = format.toStdString(),
                     .m = m,
                     .n = n,
                     .k = k,
                     .kn = kn,
                     .bias = n % 2 != 0,
                     .act = m % 2 ? "f32" : "bf16",
                     .scale = scale.toStdString(),
                     .block = block,
                     .out = m == 9 ? "bf16" : "f32"};
        const Product product(c);
        if (!product.plan.tiling) continue;
        for (const VariantRow* row : product.plan.variants) {
            if (row->path != Path::Skinny && row->path != Path::Large) continue;
            const std::string wrong = product.run(*row);
            QVERIFY2(wrong.empty(), (std::string(row->id) + ", " + c.name() + ": " + wrong).c_str());
            (row->path == Path::Large ? large : skinny) = true;
        }
    }
    QVERIFY(skinny && large);
}

void CudaEmulated::dequantizes() {
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3"})
        for (const char* scale : {"row", "column", "tensor", "block"}) {
            const AbiProblem problem(
                {.weight = format, .n = 7, .k = 101, .scale = scale, .block = 32, .op = "dequantize"});
            const Plan plan = planFor(problem.problem, {});
            QVERIFY2(!plan.variants.empty(), plan.refusal.c_str());
            const Stored& w = plan.weight;
            StoredMatrix matrix;
            matrix.codes = static_cast<const std::uint8_t*>(problem.inputs[0]->data);
            matrix.scales = w.scaleCount ? static_cast<const float*>(problem.inputs[1]->data) : nullptr;
            matrix.levels = w.levels.data(), matrix.bits = w.bits, matrix.highFirst = w.highFirst;
            matrix.rows = w.rows, matrix.columns = w.columns, matrix.rowBytes = w.rowBytes;
            matrix.rowBlock = w.rowBlock, matrix.rowStride = w.rowStride;
            matrix.columnBlock = w.columnBlock, matrix.columnStride = w.columnStride;
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

void CudaEmulated::quantizes() {
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
            else if (plan.weight.signedBytes)
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

/// Rows that the kernel loads and stores four at a time.
void CudaEmulated::dequantizesWholeRows() {
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary"})
        for (const std::uint64_t block : {0u, 32u, 6u}) {
            const Case c{.weight = format,
                         .n = 3,
                         .k = 1120,
                         .scale = block ? "block" : "row",
                         .block = block ? block : 64,
                         .op = "dequantize"};
            const AbiProblem problem(c);
            const Plan plan = planFor(problem.problem, {});
            QVERIFY2(!plan.variants.empty(), (c.name() + plan.refusal).c_str());
            const Stored& w = plan.weight;
            StoredMatrix matrix;
            const auto* from = static_cast<const std::uint8_t*>(problem.inputs[0]->data);
            std::vector<std::uint32_t> codes((w.weightBytes() + 3) / 4);
            std::memcpy(codes.data(), from, w.weightBytes());
            matrix.codes = reinterpret_cast<const std::uint8_t*>(codes.data());
            matrix.scales = static_cast<const float*>(problem.inputs[1]->data), matrix.levels = w.levels.data();
            matrix.bits = w.bits, matrix.highFirst = w.highFirst;
            matrix.rows = w.rows, matrix.columns = w.columns, matrix.rowBytes = w.rowBytes;
            matrix.rowBlock = w.rowBlock, matrix.rowStride = w.rowStride;
            matrix.columnBlock = w.columnBlock, matrix.columnStride = w.columnStride;
            Guarded<float> y(3 * 1120);
            QCOMPARE(dequantize(matrix, y.data(), Element::F32, nullptr), 0);
            QVERIFY(y.whole());
            for (std::size_t i = 0; i < problem.dense.size(); ++i) QCOMPARE(y.data()[i], problem.dense[i]);
            Guarded<std::uint16_t> halves(3 * 1120), wanted(3 * 1120);
            QCOMPARE(dequantize(matrix, halves.data(), Element::Bf16, nullptr), 0);
            QCOMPARE(roundToBf16(y.data(), 3 * 1120, wanted.data(), nullptr), 0);
            QVERIFY(halves.bytes == wanted.bytes);
        }
}

/// Blocks of 64 around every threshold, of many sizes, and a NaN, which is code 0 and no part of a scale.
void CudaEmulated::nf4Decisions() {
    const auto& t = qs::nf4Thresholds().threshold;
    for (int i = 1; i < 15; ++i) QVERIFY(t[i] - t[i - 1] > 1.0f / 15); // what nf4Blocks64 relies on
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

/// Half to even, a scale that is never 0, zeros in the padding.
void CudaEmulated::quantizesActivations() {
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

void CudaEmulated::finishesIntegers() {
    const std::vector<std::int32_t> sums = {10, -20, 99, 30, 40, 99};
    const std::vector<float> xScale = {0.5f, 2.0f}, wScale = {1.0f, 0.25f}, bias = {100.0f, -1.0f};
    Guarded<float> y(4);
    QCOMPARE(
        finishIntegers(sums.data(), 3, xScale.data(), wScale.data(), {y.data(), false, bias.data(), 2, 2}, nullptr), 0);
    QVERIFY(y.whole());
    const float wanted[] = {105.0f, -3.5f, 160.0f, 19.0f};
    for (int i = 0; i < 4; ++i) QCOMPARE(y.data()[i], wanted[i]);
    Guarded<std::uint16_t> halves(4);
    QCOMPARE(finishFloats(wanted, {halves.data(), true, nullptr, 2, 2}, nullptr), 0);
    QVERIFY(halves.whole());
    for (int i = 0; i < 4; ++i) QCOMPARE(std::bit_cast<float>(std::uint32_t(halves.data()[i]) << 16), wanted[i]);
}

QTEST_GUILESS_MAIN(CudaEmulated)
#include "tst_cuda_emulated.moc"
