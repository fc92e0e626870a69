// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/coders_op.h"
#include "kernels/matmul.h"
#include "kernels/reference/matmul.h"
#include "kernels/simd/sets.h"

#include <array>

namespace qs {
namespace {

/// Not above the set that QS_FORCE_ISA or the processor allows.
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
constexpr MatmulVariant kCodersAvx2 = coders<avx2Kernels>("coders_avx2", "AVX2 coders");
constexpr MatmulVariant kCodersAvx512 = coders<avx512Kernels>("coders_avx512", "AVX-512 coders");

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
        const bool act = p.act == NumberType::F32 || p.act == NumberType::Bf16 || p.act == NumberType::I8;
        if (!act) return "activations are f32, bf16 or int8";
        if (p.dynamicAct && p.act != NumberType::I8) return "only int8 activations are quantized on the way";
    }
    if (p.op != MatmulOp::Quantize && p.op != MatmulOp::QuantizeAct && p.out != NumberType::F32 &&
        p.out != NumberType::Bf16)
        return "results are f32 or bf16";
    return nullptr;
}

std::span<const MatmulVariant* const> matmulVariants() {
    static const std::array variants = {&referenceMatmul(), &kCodersAvx2, &kCodersAvx512};
    return variants;
}

} // namespace qs
