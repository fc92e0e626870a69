// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA product kernels, run on the host thread by thread (see emulated/) and compared with f64. cuda_check tests
// what only a device can show.
#include "kernels/format.h"
#include "tests/plugins/cuda/emulated/clock.h"
#include "tests/plugins/cuda/exact_memory.h"
#include "tests/plugins/cuda/weight_rows.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

using namespace qs::cuda;
using namespace qs::test;

namespace {

/// A smaller part of the combinations, because sanitizers make fibers even slower.
bool few(std::size_t turn) { return taken(turn) && taken(turn / kThinning); }

struct Product {
    const Case& c;
    const AbiProblem problem;
    Plan plan;
    int processors = 4; ///< multiprocessors of the device
    /// For 2-bit formats: sets a level that no code uses, so that the kernel decodes by table instead of by arithmetic.
    void decodeByTable() { plan.weight.levels[3] = 7; }
    explicit Product(const Case& c) : c(c), problem(c, unsigned(c.m + 3 * c.n + 7 * c.k)) {
        plan = planFor(problem.problem, {"none", "none"});
    }

    /// The same steps as Product::run() of the backend. Returns the problem, or an empty string.
    std::string run(const VariantRow& row) const {
        const bool large = row.path == Path::Large, bf16 = c.act == "bf16", outBf16 = c.out == "bf16";
        const qs::plugin::WeightLayout& stored = plan.weight;
        const TiledWeight w =
            tiled(stored, *plan.tiling, c.kn, c.n, c.k, static_cast<const std::uint8_t*>(problem.inputs[0]->data),
                  stored.scaleCount ? static_cast<const float*>(problem.inputs[1]->data) : nullptr);
        const std::int64_t rows = large ? roundUp(c.m, 128) : c.m;
        Guarded<std::uint16_t> x(rows * w.depth);
        const auto act = exact(problem.acts[0]);
        padActivations(act.data(), bf16 ? Element::Bf16 : Element::F32, c.m, c.k, rows, w.depth, x.data(), nullptr);
        if (!x.whole()) return "padding wrote beyond x";
        Guarded<float> y32(outBf16 ? 0 : c.m * c.n);
        Guarded<std::uint16_t> y16(outBf16 ? c.m * c.n : 0);
        const auto ownBias = c.bias ? exact(problem.inputs.back()) : std::vector<unsigned char>();
        const auto* bias = c.bias ? reinterpret_cast<const float*>(ownBias.data()) : nullptr;
        const Target to{outBf16 ? static_cast<void*>(y16.data()) : y32.data(), outBf16, bias, c.m, c.n};
        const DeviceWeight weight = deviceWeight(w, w.codes.data(), w.scales.data(), w.levels.data());
        if (row.path == Path::Staged) {
            // Runs twice, to check that the counters of the blocks are 0 again after a run.
            const StagedShape shape = stagedShape(w.bits, c.m, c.n, c.k, processors);
            Guarded<float> sums(std::int64_t(shape.sums));
            std::vector<std::uint32_t> finished(std::size_t(shape.groups), 0);
            for (int turn = 0; turn < 2; ++turn)
                if (stagedProduct(weight, x.data(), shape, {sums.data(), finished.data()}, to, nullptr))
                    return "launch";
            if (!sums.whole()) return "wrote beyond the sums";
        } else if (large ? largeProduct(weight, x.data(), to, nullptr)
                         : skinnyProduct(weight, x.data(), skinnyShape(c.m, c.k), to, nullptr))
            return "launch";
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
    void multipliesByEveryCut();
    void multipliesSharingX();
    void multipliesE4m3();
    void finishesIntegers();
    void finishesByFours();
    void readsEverythingInEachPass();
    void holdsForTheTimeThatIsAsked();
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
    static std::size_t turn = 0;
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
        if (!few(turn++)) continue;
        Product product(c);
        if (!product.plan.tiling) continue;
        for (const bool byTable : {false, true}) {
            if (byTable && c.weight != "ternary") break;
            if (byTable) product.decodeByTable();
            for (const VariantRow* row : product.plan.variants) {
                if (row->flags & QS_VARIANT_BASELINE) continue;
                const std::string wrong = product.run(*row);
                QVERIFY2(wrong.empty(), (std::string(row->id) + ", " + c.name() + ": " + wrong).c_str());
                (row->path == Path::Large ? large : skinny) = true;
            }
        }
    }
    ++turn; // so that other rows get other shapes
    QVERIFY(kThinning > 1 || (skinny && large));
}

/// Every number of rows up to 64, and every number of warps that share the sum over k.
void CudaEmulated::multipliesByEveryCut() {
    std::set<std::pair<int, int>> cuts;
    std::size_t turn = 0;
    const auto multiply = [&](const Case& c) {
        const Product product(c);
        for (const VariantRow* row : product.plan.variants) {
            if (row->flags & QS_VARIANT_BASELINE) continue;
            const std::string wrong = product.run(*row);
            QVERIFY2(wrong.empty(), (std::string(row->id) + ", " + c.name() + ": " + wrong).c_str());
            const SkinnyShape shape = skinnyShape(c.m, c.k);
            if (row->path == Path::Skinny) cuts.insert({shape.columns, shape.warps});
        }
    };
    for (std::int64_t m = 1; m <= 64; ++m)
        if (few(turn++)) multiply({.weight = "nf4", .m = m, .n = 17, .k = 129, .bias = m % 2 == 0, .block = 64});
    for (const std::int64_t m : {2, 11, 31})
        for (const std::int64_t k : {100, 257, 1000, 2100})
            for (const char* weight : {"nf4", "int8", "ternary"})
                if (taken(turn++)) multiply({.weight = weight, .m = m, .n = 19, .k = k});
    // 1, 2, 4 and 8 warps with 8 and 16 columns; at most 4 warps with 32 columns.
    QVERIFY(cuts.size() == 11 || (kThinning > 1 && cuts.size() >= 4));
}

/// Staged kernel, whose blocks share x: every number of rows of x, with and without a split of k, odd numbers of
/// chunks, channels beyond the last, and all block lengths of scales.
void CudaEmulated::multipliesSharingX() {
    std::set<std::int64_t> splits;
    std::size_t turn = 0;
    bool seen = false;
    const auto multiply = [&](const Case& c, int processors, bool offered = true) {
        Product product(c);
        product.processors = processors;
        const auto& rows = product.plan.variants;
        const auto row = std::find_if(rows.begin(), rows.end(), [](auto* r) { return r->path == Path::Staged; });
        QVERIFY2((row != rows.end()) == offered, c.name().c_str());
        if (!offered || !few(turn++)) return;
        const std::string wrong = product.run(**row);
        QVERIFY2(wrong.empty(), (c.name() + ", " + std::to_string(processors) + ": " + wrong).c_str());
        splits.insert(stagedShape(product.plan.tiling->bits, c.m, c.n, c.k, processors).splits);
        seen = true;
    };
    for (std::int64_t m = 1; m <= 16; ++m)
        multiply({.weight = "nf4", .m = m, .n = 261, .k = 640 + m, .bias = m % 2 == 0, .block = 64},
                 int(m % 4) * 2 + 1);
    for (const std::uint64_t block : {16, 32, 48, 96, 128, 192, 1024})
        for (const char* weight : {"nf4", "ternary", "int8"})
            multiply({.weight = weight, .m = 11, .n = 50, .k = 900, .scale = "block", .block = block}, int(block % 5));
    for (const std::int64_t k : {1, 128, 129, 256, 257, 385})
        multiply({.weight = "int4", .m = 3, .n = 70, .k = k, .act = "bf16", .scale = "row", .out = "bf16"}, 3);
    for (const char* weight : {"nf4", "ternary", "int8"}) { // a scale for every k: the tiles of a warp share it, or
                                                            // each has its own
        const bool wide = std::string(weight) != "int8";
        multiply({.weight = weight, .m = 5, .n = 200, .k = 300, .kn = true, .scale = "block", .block = 64}, 2);
        multiply({.weight = weight, .m = 5, .n = 200, .k = 300, .kn = true, .scale = "block", .block = 32}, 2, !wide);
        multiply({.weight = weight, .m = 16, .n = 40, .k = 300, .kn = true, .scale = "row"}, 2);
    }
    multiply({.weight = "nf4", .m = 17, .n = 70, .k = 300}, 3, false);
    QVERIFY(seen && (kThinning > 1 || splits.size() >= 3));
}

/// The steps around cuBLASLt's product of bytes; the product itself is done here in f64.
void CudaEmulated::multipliesE4m3() {
    for (const bool kn : {false, true}) {
        const Case c{.weight = "fp8_e4m3",
                     .m = 5,
                     .n = 19,
                     .k = 203,
                     .kn = kn,
                     .bias = kn,
                     .act = "dynamic fp8",
                     .scale = kn ? "column" : "row"};
        const AbiProblem problem(c);
        const Plan plan = planFor(problem.problem, {});
        QVERIFY2(!plan.variants.empty() && plan.variants.front()->path == Path::E4m3, plan.refusal.c_str());
        const qs::plugin::WeightLayout& w = plan.weight;
        const auto act = exact(problem.acts[0]);
        const auto* codes = static_cast<const std::uint8_t*>(problem.inputs[0]->data);
        const auto* scales = static_cast<const float*>(problem.inputs[1]->data);
        const std::vector<float> table = qs::floatTable(*qs::findFormat("fp8_e4m3"));
        Guarded<std::uint8_t> q(16 * 256);
        Guarded<float> xScale(16), sums(5 * 32), y(c.m * c.n);
        quantizeRowsE4m3(reinterpret_cast<const float*>(act.data()), c.m, c.k, 16, 256, q.data(), xScale.data(),
                         nullptr);
        std::vector<float> wScale;
        for (std::int64_t n = 0; n < c.n; ++n) {
            wScale.push_back(scales[kn ? w.scaleIndex(0, n) : w.scaleIndex(n, 0)]);
            for (std::int64_t m = 0; m < c.m; ++m) {
                double sum = 0;
                for (std::int64_t k = 0; k < c.k; ++k)
                    sum +=
                        double(table[q.data()[m * 256 + k]]) * double(table[w.codeAt(codes, kn ? k : n, kn ? n : k)]);
                sums.data()[m * 32 + n] = float(sum);
            }
        }
        const auto bias = kn ? exact(problem.inputs.back()) : std::vector<unsigned char>();
        QCOMPARE(finishScaled(sums.data(), 32, xScale.data(), wScale.data(),
                              {y.data(), false, kn ? reinterpret_cast<const float*>(bias.data()) : nullptr, c.m, c.n},
                              nullptr),
                 0);
        QVERIFY(y.whole());
        const double error = nmse({y.data(), y.data() + c.m * c.n}, problem.reference);
        QVERIFY2(error < 1e-12, std::to_string(error).c_str());
    }
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

/// The kernel finishes four values per thread. Includes last rows with fewer; the result must equal a loop over single
/// values.
void CudaEmulated::finishesByFours() {
    for (const std::int64_t m : {1, 4, 7})
        for (const std::int64_t n : {20, 1028, 19}) {
            const std::int64_t ld = roundUp(n, 16);
            std::vector<std::int32_t> sums(std::size_t(m * ld));
            std::vector<float> xScale, wScale, bias, plain;
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::int32_t(i * 2654435761u) / 64;
            for (std::int64_t i = 0; i < m; ++i) xScale.push_back(float(i + 1) / 7);
            for (std::int64_t i = 0; i < ld; ++i) wScale.push_back(float(i % 13) / 11), bias.push_back(float(i) * 1e5f);
            for (const bool biased : {false, true})
                for (const bool bf16 : {false, true}) {
                    Guarded<float> y(bf16 ? 0 : m * n);
                    Guarded<std::uint16_t> halves(bf16 ? m * n : 0);
                    const Target to{bf16 ? static_cast<void*>(halves.data()) : y.data(), bf16,
                                    biased ? bias.data() : nullptr, m, n};
                    QCOMPARE(finishIntegers(sums.data(), ld, xScale.data(), wScale.data(), to, nullptr), 0);
                    QVERIFY(y.whole() && halves.whole());
                    for (std::int64_t i = 0; i < m; ++i)
                        for (std::int64_t j = 0; j < n; ++j) {
                            const float sum = float(sums[std::size_t(i * ld + j)]);
                            const float scaled = sum * xScale[std::size_t(i)] * wScale[std::size_t(j)];
                            const float wanted = biased ? scaled + bias[std::size_t(j)] : scaled;
                            const std::uint32_t bits = std::bit_cast<std::uint32_t>(wanted);
                            if (bf16)
                                QCOMPARE(halves.data()[i * n + j],
                                         std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
                            else
                                QCOMPARE(y.data()[i * n + j], wanted);
                        }
                }
        }
}

/// One word in the data is the sign. The thread that reads it must find it in every pass.
void CudaEmulated::readsEverythingInEachPass() {
    for (const std::int64_t count : {1, 1000, 4096, 40000})
        for (const std::int64_t at : {std::int64_t(0), count / 3, count - 1})
            for (const int passes : {1, 3}) {
                std::vector<std::array<std::uint32_t, 4>> data(std::size_t(count), {0, 0, 0, 0});
                data[std::size_t(at)][at % 4] = kStreamSign;
                std::uint32_t found = 0;
                QCOMPARE(readStream(data.data(), 16 * count, passes, &found, 1, nullptr), 0);
                QCOMPARE(found, std::uint32_t(passes));
            }
    const CacheStream h200 = cacheStream(std::size_t(50) << 20);
    QVERIFY(h200.bytes % 16 == 0 && h200.bytes >= std::size_t(12) << 20 && h200.bytes <= std::size_t(13) << 20);
    QVERIFY(h200.passes > 80 && h200.passes < 90);
    QCOMPARE(cacheStream(0).bytes, std::size_t(0));
    QVERIFY(cacheStream(std::size_t(4) << 20).passes > 1000); // more passes, because the data must not fit a nearer
                                                              // cache
}

void CudaEmulated::holdsForTheTimeThatIsAsked() {
    constexpr std::uint64_t ns = 3'000'000, threads = 32; // which wait one after another
    const std::uint64_t before = emulated::clockNs;
    QCOMPARE(holdStream(ns, nullptr), 0);
    const std::uint64_t passed = emulated::clockNs - before;
    QVERIFY(passed >= threads * ns && passed < threads * (ns + 10'000));
}

QS_TEST(CudaEmulated)
#include "cuda_emulated_test.moc"
