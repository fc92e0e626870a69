// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/coders_op.h"
#include "kernels/lane_matmul.h"
#include "kernels/matmul.h"
#include "kernels/reference/matmul.h"
#include "kernels/simd/lane_sets.h"
#include "kernels/simd/sets.h"

#include <cstdlib>

namespace qs {
namespace {

#if defined(__x86_64__)
/// Whether the processor and QS_FORCE_ISA allow this set.
bool allowed(const KernelSet& wanted) {
    for (const KernelSet* set : kernelSets()) {
        if (set == &wanted) return wanted.supported();
        if (set == &bestKernels()) return false;
    }
    return false;
}

const char* codersDecline(const MatmulProblem& problem) {
    if (const char* reason = whyImpossible(problem)) return reason;
    return whyNotCoded(problem);
}

template<const KernelSet& (*set)()> constexpr MatmulVariant coders(const char* id, const char* title) {
    return {.id = id,
            .title = title,
            .note = "the bits of the reference",
            .shape = "one row at a time",
            .flags = 0,
            .nmseLimit = -1,
            .compute = NumberType::F32,
            .fromM = 1,
            .supported = [] { return allowed(set()); },
            .declines = codersDecline,
            .prepare = [](const MatmulProblem& problem, const WeightOperand& operand,
                          ThreadTeam&) { return prepareCoded(problem, operand, set()); }};
}

bool avx2() { return allowed(avx2Kernels()); }
bool avx512() { return allowed(avx512Kernels()) && __builtin_cpu_supports("avx512vnni"); }
bool avx512Bf16() { return avx512() && __builtin_cpu_supports("avx512bf16"); }

#elif defined(__aarch64__)
// The only set that QS_FORCE_ISA can name there is the scalar one
bool neon() { return !std::getenv("QS_FORCE_ISA"); }
#endif

// Limits of the normalized mean squared error, by the type of products.
constexpr double kF32Limit = 1e-9, kBf16Limit = 3e-5, kI8Limit = 1e-12, kFixedLimit = 1e-6;

/// The variant that runs one loop with the kernels of one instruction set.
template<const LaneKernels& (*kernels)(LaneProducts), LaneProducts products, LaneLoop loop>
constexpr MatmulVariant lanes(const char* id, const char* title, const char* note, const char* shape,
                              bool (*supported)()) {
    constexpr bool i8 = products == LaneProducts::I8, f32 = products == LaneProducts::F32;
    constexpr bool fixed = products == LaneProducts::Fixed;
    return {.id = id,
            .title = title,
            .note = note,
            .shape = shape,
            .flags = kVariantRepacks,
            .nmseLimit = i8      ? kI8Limit
                         : f32   ? kF32Limit
                         : fixed ? kFixedLimit
                                 : kBf16Limit,
            .compute = i8      ? NumberType::I8
                       : f32   ? NumberType::F32
                       : fixed ? NumberType::I16
                               : NumberType::Bf16,
            .fromM = loop == LaneLoop::Gemv ? std::size_t(1) : std::size_t(33),
            .supported = supported,
            .declines = [](const MatmulProblem& p) { return whyNotLanes(p, kernels(products), products, loop); },
            .prepare = [](const MatmulProblem& p, const WeightOperand& w,
                          ThreadTeam& team) { return prepareLanes(p, w, kernels(products), products, loop, team); }};
}
using enum LaneProducts;
using enum LaneLoop;
constexpr const char* kFewRows = "64 channels of a panel decoded in registers, for 1, 2 or 4 rows of x";
constexpr const char* kDense512 = "panels of 32 channels decoded into the cache, then 12 rows x 32 channels";
constexpr const char* kDense256 = "panels of 16 channels decoded into the cache, then 6 rows x 16 channels";
constexpr const char* kSingles = "f32 products and sums; 1 and 2 bits by tables of sums";
constexpr const char* kPairs = "bf16 products of rounded activations, f32 sums; denormals count as 0";
constexpr const char* kFixed =
    "16-bit integer products: x rounded to 14 bits or more of its largest in 64 or 128, levels to 13; f32 scales";
constexpr const char* kQuads = "int8 products, exact i32 sums, f32 scales";
constexpr MatmulVariant kProducts[] = {
#if defined(__x86_64__)
    coders<avx512Kernels>("coders_avx512", "AVX-512 coders"),
    coders<avx2Kernels>("coders_avx2", "AVX2 coders"),
    lanes<laneKernelsAvx512, Bf16, Gemv>("gemv_bf16_avx512", "Few rows, bf16, AVX-512", kPairs, kFewRows, avx512Bf16),
    lanes<laneKernelsAvx512, Fixed, Gemv>("gemv_fixed_avx512", "Few rows, fixed point, AVX-512", kFixed, kFewRows,
                                          avx512),
    lanes<laneKernelsAvx512, F32, Gemv>("gemv_f32_avx512", "Few rows, f32, AVX-512", kSingles, kFewRows, avx512),
    lanes<laneKernelsAvx512, I8, Gemv>("gemv_i8_avx512", "Few rows, int8, AVX-512", kQuads, kFewRows, avx512),
    lanes<laneKernelsAvx512, Bf16, Gemm>("gemm_bf16_avx512", "Dense, bf16, AVX-512", kPairs, kDense512, avx512Bf16),
    lanes<laneKernelsAvx512, F32, Gemm>("gemm_f32_avx512", "Dense, f32, AVX-512", kSingles, kDense512, avx512),
    lanes<laneKernelsAvx512, I8, Gemm>("gemm_i8_avx512", "Dense, int8, AVX-512", kQuads, kDense512, avx512),
    lanes<laneKernelsAvx2, Fixed, Gemv>("gemv_fixed_avx2", "Few rows, fixed point, AVX2", kFixed, kFewRows, avx2),
    lanes<laneKernelsAvx2, F32, Gemv>("gemv_f32_avx2", "Few rows, f32, AVX2", kSingles, kFewRows, avx2),
    lanes<laneKernelsAvx2, I8, Gemv>("gemv_i8_avx2", "Few rows, int8, AVX2", kQuads, kFewRows, avx2),
    lanes<laneKernelsAvx2, F32, Gemm>("gemm_f32_avx2", "Dense, f32, AVX2", kSingles, kDense256, avx2),
    lanes<laneKernelsAvx2, I8, Gemm>("gemm_i8_avx2", "Dense, int8, AVX2", kQuads, kDense256, avx2),
#elif defined(__aarch64__)
    lanes<laneKernelsNeon, F32, Gemv>("gemv_f32_neon", "Few rows, f32, NEON", kSingles, kFewRows, neon),
    lanes<laneKernelsNeon, I8, Gemv>("gemv_i8_neon", "Few rows, int8, NEON", kQuads, kFewRows, neon),
    lanes<laneKernelsNeon, F32, Gemm>("gemm_f32_neon", "Dense, f32, NEON", kSingles, kDense256, neon),
    lanes<laneKernelsNeon, I8, Gemm>("gemm_i8_neon", "Dense, int8, NEON", kQuads, kDense256, neon),
#endif
};

const char* whyBadFormat(const MatmulProblem& p) {
    const WeightFormat& w = p.weight;
    const std::size_t perByte = w.bits <= 8 && w.bits > 0 ? 8 / std::size_t(w.bits) : 0;
    const bool packed = w.packing != Packing::None;
    if (packed != (w.packAxis >= 0)) return "a packing needs the axis it packs along";
    const int bits[] = {w.bits, 4, 4, 2, 1, w.bits};
    if (packed && bits[int(w.packing)] != w.bits) return "the packing does not fit the number of bits";
    if (packed && (perByte < 2 || w.element != NumberType::U8)) return "only codes of 1, 2 and 4 bits share bytes";
    if (packed && w.packAxis != 1 && (w.packing != Packing::Planar || w.packAxis != 0))
        return "codes share bytes along the last axis (planar: along either)";
    if (w.packing == Packing::Planar && (w.packAxis == 0 ? p.rows() : p.cols()) % perByte)
        return "the planar packing needs an axis that its planes divide";
    if (!packed && w.bits != 8 && w.bits != 16 && w.bits != 32) return "codes that share no byte have 8, 16 or 32 bits";
    if (!w.isFloat() && w.bits > 8) return "integers and codebooks have at most 8 bits";
    if (w.levels.size() > 256) return "a codebook has at most 256 values";
    if (w.scale == NumberType::None && (w.blockAxis >= 0 || w.channelAxis >= 0))
        return "blocks and channels need scales";
    if (w.blockAxis > 1 || w.channelAxis > 1) return "a weight has two axes";
    if (w.blockAxis >= 0 && w.block == 0) return "a block has at least one element";
    return nullptr;
}

} // namespace

const char* whyImpossible(const MatmulProblem& p) {
    if (p.m == 0 || p.k == 0) return "empty shapes have nothing to compute";
    if (p.op != MatmulOp::QuantizeAct) {
        if (p.n == 0) return "empty shapes have nothing to compute";
        if (const char* reason = whyBadFormat(p)) return reason;
    }
    if (p.op == MatmulOp::Matmul) {
        const bool fp8 = p.act == NumberType::Fp8E4m3;
        const bool act = p.act == NumberType::F32 || p.act == NumberType::Bf16 || p.act == NumberType::I8 || fp8;
        if (!act) return "activations are f32, bf16, int8 or fp8_e4m3";
        if (fp8 && !p.dynamicAct) return "fp8 activations are quantized on the way only";
        if (p.dynamicAct && p.act != NumberType::I8 && !fp8)
            return "only int8 and fp8_e4m3 activations are quantized on the way";
    }
    if (p.op != MatmulOp::Quantize && p.op != MatmulOp::QuantizeAct && p.out != NumberType::F32 &&
        p.out != NumberType::Bf16)
        return "results are f32 or bf16";
    return nullptr;
}

std::span<const MatmulVariant* const> matmulVariants() {
    static const std::vector<const MatmulVariant*> variants = [] {
        std::vector<const MatmulVariant*> all = {&referenceMatmul()};
        for (const MatmulVariant& variant : kProducts) all.push_back(&variant);
        return all;
    }();
    return variants;
}

} // namespace qs
