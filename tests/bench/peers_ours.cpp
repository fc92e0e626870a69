// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/format.h"
#include "kernels/kernel_set.h"
#include "tests/bench/peers.h"

#include <memory>

namespace qs::bench {
namespace {

constexpr std::size_t kBlock = 64;

struct OurProduct {
    std::vector<std::unique_ptr<PreparedMatmul>> copies;
    Aligned<float> y;
    std::unique_ptr<StoredInt8> q; ///< activations that are already int8
};

void add(const Contest& c, ThreadTeam& team, Contestants& all, const char* name, const char* variantId,
         const WeightFormat& format, const WeightOperand& operand, NumberType act, bool dynamic) {
    MatmulProblem p;
    p.m = c.m, p.n = c.n, p.k = c.k, p.weight = format, p.act = act, p.dynamicAct = dynamic;
    for (const MatmulVariant* variant : matmulVariants()) {
        if (std::string(variant->id) != variantId || !variant->supported() || variant->declines(p)) continue;
        auto product = std::make_shared<OurProduct>();
        product->copies.push_back(variant->prepare(p, operand, team));
        const std::size_t bytes = product->copies[0]->weightBytes(), copies = c.copies(bytes);
        while (product->copies.size() < copies) product->copies.push_back(product->copies[0]->clone());
        product->y = Aligned<float>(c.m * c.n);
        const bool given = act == NumberType::I8 && !dynamic;
        if (given) product->q = std::make_unique<StoredInt8>(c.x, c.m, c.k);
        const MatmulInput in =
            given ? MatmulInput{product->q->q.data(), product->q->scales.data()} : MatmulInput{c.x, nullptr};
        all.push_back({name, bytes, copies,
                       [product, in, &team](std::size_t copy) {
                           product->copies[copy]->run(in, {product->y.data(), nullptr}, team, {});
                       },
                       [product, n = c.n](std::size_t m, std::size_t i) { return product->y[m * n + i]; }});
        return;
    }
}

} // namespace

StoredNf4::StoredNf4(const Contest& c) : packed(c.n * c.k / 2), absmax(c.n * c.k / kBlock) {
    bestKernels().quantizeNf4Packed(c.w, c.n * c.k, kBlock, packed.data(), absmax.data(), nullptr);
}
StoredInt8::StoredInt8(const float* x, std::size_t rows, std::size_t k) : q(rows * k), scales(rows) {
    for (std::size_t i = 0; i < rows; ++i)
        bestKernels().quantizeInt8Stored(x + i * k, k, k, q.data() + i * k, &scales[i]);
}

void addOurProducts(const Contest& c, ThreadTeam& team, Contestants& all) {
    using enum NumberType;
    WeightFormat nf4;
    nf4.id = "nf4", nf4.bits = 4, nf4.element = U8, nf4.packing = Packing::PairHiFirst, nf4.packAxis = 1;
    nf4.scale = F32, nf4.block = kBlock, nf4.blockAxis = 1;
    nf4.levels.assign(nf4Levels().begin(), nf4Levels().end());
    WeightFormat int8;
    int8.id = "int8", int8.bits = 8, int8.element = I8, int8.scale = F32, int8.channelAxis = 0;
    WeightFormat ternary;
    ternary.id = "ternary", ternary.bits = 2, ternary.element = U8, ternary.packing = Packing::QuadLoFirst;
    ternary.packAxis = 1, ternary.scale = F32, ternary.channelAxis = 0, ternary.codeBias = -1;

    const StoredNf4 w4(c);
    const StoredInt8 w8(c.w, c.n, c.k);
    Aligned<std::uint8_t> w2(c.n * c.k / 4);
    Aligned<float> w2Scales(c.n);
    bestKernels().quantizeTernaryPacked(c.w, c.n * c.k, c.k, w2.data(), w2Scales.data());

    const std::string loop = c.m <= 8 ? "gemv" : "gemm";
    const std::string set = bestKernels().id;
    const auto id = [&](const char* products) { return loop + "_" + products + "_" + set; };
    const WeightOperand nf4Operand{w4.packed.data(), c.k / 2, w4.absmax.data(), c.k / kBlock, nullptr},
        int8Operand{w8.q.data(), c.k, w8.scales.data(), 0, nullptr},
        ternaryOperand{w2.data(), c.k / 4, w2Scales.data(), 0, nullptr};
    add(c, team, all, "ours nf4, bf16 products", id("bf16").c_str(), nf4, nf4Operand, F32, false);
    add(c, team, all, "ours nf4, f32 products", id("f32").c_str(), nf4, nf4Operand, F32, false);
    add(c, team, all, "ours nf4, fixed point", id("fixed").c_str(), nf4, nf4Operand, F32, false);
    add(c, team, all, "ours int8, x quantized in the run", id("i8").c_str(), int8, int8Operand, I8, true);
    add(c, team, all, "ours int8, x given as int8", id("i8").c_str(), int8, int8Operand, I8, false);
    add(c, team, all, "ours ternary, x quantized in the run", id("i8").c_str(), ternary, ternaryOperand, I8, true);
}

void addOurCoders(const Contest& c, ThreadTeam& team, Contestants& all) {
    struct Coders {
        StoredNf4 nf4;
        Aligned<std::uint8_t> codes;
        Aligned<float> scales, out;
    };
    const std::size_t count = c.n * c.k;
    auto kept = std::make_shared<Coders>(
        Coders{StoredNf4(c), Aligned<std::uint8_t>(count), Aligned<float>(c.n), Aligned<float>(count)});
    const std::size_t bytes = count * 4, copies = c.copies(bytes);
    const auto perRow = [&](const char* name, auto work) { // work(values, first row, rows)
        all.push_back({name, bytes, copies, [&team, work, &c](std::size_t copy) {
                           team.run([&](int worker) {
                               const auto [begin, end] = shareOf(c.n, worker, team.size());
                               work(c.w + copy * c.n * c.k, begin, end - begin);
                           });
                       }});
    };
    const std::size_t k = c.k;
    perRow("ours quantize nf4 block 64", [kept, k](const float* w, std::size_t row, std::size_t rows) {
        bestKernels().quantizeNf4Packed(w + row * k, rows * k, kBlock, kept->nf4.packed.data() + row * k / 2,
                                        kept->nf4.absmax.data() + row * k / kBlock, nullptr);
    });
    perRow("ours quantize int8 rows", [kept, k](const float* w, std::size_t row, std::size_t rows) {
        bestKernels().quantizeInt8Stored(w + row * k, rows * k, k,
                                         reinterpret_cast<std::int8_t*>(kept->codes.data()) + row * k,
                                         kept->scales.data() + row);
    });
    perRow("ours quantize ternary rows", [kept, k](const float* w, std::size_t row, std::size_t rows) {
        bestKernels().quantizeTernaryPacked(w + row * k, rows * k, k, kept->codes.data() + row * k / 4,
                                            kept->scales.data() + row);
    });
    perRow("ours dequantize nf4 to f32", [kept, k](const float*, std::size_t row, std::size_t rows) {
        bestKernels().dequantizeNf4Packed(kept->nf4.packed.data() + row * k / 2, rows * k, kBlock,
                                          kept->nf4.absmax.data() + row * k / kBlock, nf4Levels().data(),
                                          kept->out.data() + row * k);
    });
    all.back().y = [kept, k](std::size_t row, std::size_t i) { return kept->out[row * k + i]; };
}

} // namespace qs::bench
