// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cuda/plan.h"

#include "kernels/cuda/affine.h"
#include "kernels/cuda/staged.h"
#include "plugins/common/entry.h"

#include <limits>

namespace qs::cuda {
namespace {

using plugin::CodeMeaning;
using plugin::CodeOrder;
using plugin::is;
using plugin::WeightLayout;

constexpr VariantRow kRows[] = {
    {Path::Skinny, "mma_stream", "Decode in registers, stream the weights",
     "x and decoded weights in bf16, sums in f32", "bf16", QS_VARIANT_REPACKS, QS_FUSION_FUSED},
    {Path::Staged, "mma_staged", "Decode in registers, x shared by 256 channels",
     "x and decoded weights in bf16, sums in f32", "bf16", QS_VARIANT_REPACKS, QS_FUSION_FUSED},
    {Path::Large, "mma_tiles", "Decode in registers, tiles of 128 x 128", "x and scaled weights in bf16, sums in f32",
     "bf16", QS_VARIANT_REPACKS, QS_FUSION_FUSED},
    {Path::Integers, "cublaslt_i8", "cuBLASLt int8", "int8 products, int32 sums, both scales in f32", "i8",
     QS_VARIANT_BASELINE | QS_VARIANT_REPACKS, QS_FUSION_UNKNOWN},
    {Path::E4m3, "cublaslt_e4m3", "cuBLASLt fp8", "fp8 products, sums in f32, both scales in f32 in a pass of its own",
     "fp8_e4m3", QS_VARIANT_BASELINE | QS_VARIANT_REPACKS, QS_FUSION_UNKNOWN},
    {Path::F32, "cublas_f32", "cuBLAS f32", "f32 products and sums, no TF32", "f32", QS_VARIANT_BASELINE,
     QS_FUSION_UNKNOWN},
    {Path::Bf16, "cublas_bf16", "cuBLAS bf16", "x and weights rounded to bf16, sums in f32", "bf16",
     QS_VARIANT_BASELINE, QS_FUSION_UNKNOWN},
    {Path::DequantizedInRun, "dequantize_cublas_bf16", "Dequantize, then cuBLAS bf16",
     "all weights are decoded to bf16 in every run; sums in f32", "bf16", QS_VARIANT_BASELINE, QS_FUSION_MATERIALISED},
    {Path::DequantizedBefore, "dequantized_cublas_bf16", "cuBLAS bf16 over dequantized weights",
     "weights were decoded to bf16 once, in prepare; sums in f32", "bf16", QS_VARIANT_BASELINE | QS_VARIANT_REPACKS,
     QS_FUSION_MATERIALISED},
    {Path::Dequantize, "dequantize", "Dequantize", "a level times a scale, in f32", "f32", 0, QS_FUSION_UNKNOWN},
    {Path::Quantize, "quantize", "Quantize", "the reference's arithmetic in f32", "f32", 0, QS_FUSION_UNKNOWN},
    {Path::QuantizeBySearch, "quantize_search", "Quantize by search",
     "the reference's arithmetic in f32; a code is the thresholds that a value has reached", "f32", 0,
     QS_FUSION_UNKNOWN},
    {Path::QuantizeActivations, "quantize_rows", "Quantize rows", "the reference's arithmetic in f32", "f32", 0,
     QS_FUSION_UNKNOWN},
};
const VariantRow* row(Path path) {
    for (const VariantRow& candidate : kRows)
        if (candidate.path == path) return &candidate;
    return nullptr;
}

/// True if each channel has one scale for all of k.
bool scaledByChannel(const WeightLayout& w, bool wIsKn, std::int64_t k) {
    return (wIsKn ? w.rowStride : w.columnStride) == 0 || (wIsKn ? w.rowBlock : w.columnBlock) >= k;
}

void planProduct(const qs_problem& p, const Libraries& libraries, Plan& plan) {
    const qs_format act = plugin::given(p.act);
    const bool dynamic = p.flags & QS_PROBLEM_DYNAMIC_ACT, int8 = is(act.format, "int8"), bf16 = is(act.format, "bf16");
    const bool e4m3 = is(act.format, "fp8_e4m3");
    const bool kn = p.flags & QS_PROBLEM_W_IS_KN;
    if (!int8 && !e4m3 && !bf16 && !is(act.format, "f32")) {
        plan.refusal =
            std::string("activations of format ") + (act.format ? act.format : "none") + " are not read here";
        return;
    }
    if (dynamic && !int8 && !e4m3) plan.refusal = "activations quantized in the run must be int8 or fp8_e4m3";
    if (e4m3 && !dynamic) plan.refusal = "fp8 activations are quantized in the run";
    if ((int8 || e4m3) && !is(act.scale_dtype, "f32")) plan.refusal = "quantized activations need an f32 scale per row";
    if (!int8 && !e4m3 && !is(act.scale_dtype, "none"))
        plan.refusal = "float activations with scales are not read here";
    if (!plan.refusal.empty()) return;
    const qs_format weight = plugin::given(p.weight);
    plan.refusal = readWeight(weight, kn ? p.k : p.n, kn ? p.n : p.k, plan.weight);
    if (!plan.refusal.empty()) return;
    const bool codes = plan.weight.meaning != CodeMeaning::Float;
    if (codes) plan.tiling = tilingOf(plan.weight, kn, p.n, p.k);
    const auto add = [&](Path path, const char* compute, const char* accum) {
        if ((!p.compute || is(p.compute, compute)) && (!p.accum || is(p.accum, accum)))
            plan.variants.push_back(row(path));
    };

    if (int8) {
        const bool perChannel = plan.tiling && plan.tiling->mode == ScaleMode::Channel;
        if (!plan.weight.isSignedBytes() || !perChannel)
            plan.refusal = "int8 activations need int8 weights with one scale per channel";
        else if (p.k > 131071)
            plan.refusal = "int32 sums could overflow above K = 131071";
        else if (!libraries.noLt.empty())
            plan.refusal = libraries.noLt;
        else
            add(Path::Integers, "i8", "i32");
    } else if (e4m3) {
        if (!is(plan.weight.dtype, "fp8_e4m3") || weight.codebook || !scaledByChannel(plan.weight, kn, p.k))
            plan.refusal = "fp8 activations need fp8_e4m3 weights with one scale per channel";
        else if (!libraries.noFp8.empty())
            plan.refusal = libraries.noFp8;
        else
            add(Path::E4m3, "fp8_e4m3", "f32");
    } else {
        if (plan.tiling) {
            const bool skinny = prefersSkinny(p.m);
            const Tiling& tiling = *plan.tiling;
            const bool staged = p.m <= kStagedMost && stagedTakes(tiling.bits, tiling.mode, tiling.block, p.n);
            const bool stagedFirst = staged && prefersStaged(tiling.bits, p.m, p.n, p.k, kPlannedProcessors);
            if (stagedFirst) add(Path::Staged, "bf16", "f32");
            if (skinny) add(Path::Skinny, "bf16", "f32");
            if (staged && !stagedFirst) add(Path::Staged, "bf16", "f32");
            if (p.m >= kLargeLeast && p.m <= kLargeMost) add(Path::Large, "bf16", "f32");
            if (!skinny && p.m <= kSkinnyMost) add(Path::Skinny, "bf16", "f32");
        }
        if (libraries.noBlas.empty()) {
            if (plan.weight.isFloat(32) && !bf16) add(Path::F32, "f32", "f32");
            if (!codes) add(Path::Bf16, "bf16", "f32");
            if (codes) add(Path::DequantizedInRun, "bf16", "f32"), add(Path::DequantizedBefore, "bf16", "f32");
        }
        if (plan.variants.empty() && !libraries.noBlas.empty()) plan.refusal = libraries.noBlas;
    }
    if (plan.variants.empty() && plan.refusal.empty())
        plan.refusal = "products are computed in bf16 with f32 sums, or in f32 if the weights are f32";
}

void planQuantize(const qs_problem& p, Plan& plan) {
    const qs_format weight = plugin::given(p.weight);
    plan.refusal = readWeight(weight, p.n, p.k, plan.weight);
    if (!plan.refusal.empty()) return;
    const bool alongRow = plan.weight.rowStride > 0 && plan.weight.rowBlock == 1;
    if (is(weight.format, "nf4")) {
        if (plan.weight.order != CodeOrder::HighFirst || !weight.block || weight.block % 2 || !alongRow)
            plan.refusal = "nf4 is quantized in even blocks along the rows, high nibble first";
        else
            plan.variants.push_back(row(Path::Quantize));
        return;
    }
    if (is(weight.format, "int8") && plan.weight.isSignedBytes() && alongRow) {
        plan.variants.push_back(row(Path::Quantize));
        return;
    }
    plan.coder.emplace();
    plan.refusal = coderFor(weight.format, plan.weight, *plan.coder);
    if (plan.refusal.empty()) plan.variants.push_back(row(Path::QuantizeBySearch));
}

} // namespace

std::string readWeight(const qs_format& format, std::int64_t rows, std::int64_t columns, WeightLayout& to) {
    if (std::string reason = plugin::readWeightLayout(format, rows, columns, to); !reason.empty()) return reason;
    if (!to.hasF32Scales()) return "scales of type " + std::string(to.scaleType) + " are not read here";
    if (to.meaning == CodeMeaning::Float && to.scaleCount) return to.format + " weights with scales are not read here";
    if (is(to.dtype, "f16")) return "f16 weights are not read here";
    if (to.order == CodeOrder::Planar) return "planar codes are not read here";
    if (to.perByte == 1 && to.meaning != CodeMeaning::Float && to.bits < 8)
        return "codes of " + std::to_string(to.bits) + " bits that share no bytes are not read here";
    return {};
}

std::optional<Tiling> tilingOf(const WeightLayout& w, bool wIsKn, std::int64_t n, std::int64_t k) {
    if (w.meaning == CodeMeaning::Float || (w.bits == 8 && !w.isSignedBytes())) return std::nullopt;
    const int bits = std::max(w.bits, 2); // codes of 1 bit are stored in 2 bits
    const std::int64_t nBlock = wIsKn ? w.columnBlock : w.rowBlock, nStride = wIsKn ? w.columnStride : w.rowStride;
    const std::int64_t kBlock = wIsKn ? w.rowBlock : w.columnBlock, kStride = wIsKn ? w.rowStride : w.columnStride;
    if (kStride == 0 || kBlock >= k) return Tiling{bits, ScaleMode::Channel, 0};
    if (kBlock % 16 == 0) return Tiling{bits, ScaleMode::Inner, kBlock};
    if (nStride == 0 || nBlock >= n) return Tiling{bits, ScaleMode::EachK, roundUp(n, 32)};
    if (nBlock % 16 == 0) return Tiling{bits, ScaleMode::EachK, nBlock};
    return std::nullopt;
}

Plan planFor(const qs_problem& p, const Libraries& libraries) {
    Plan plan;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const auto tooMany = [](std::int64_t a, std::int64_t b) { return a > (std::int64_t(1) << 44) / b; };
    if (p.m < 1 || p.n < 1 || p.k < 1)
        plan.refusal = "the product is empty";
    else if (p.m > most || p.n > most || p.k > most)
        plan.refusal = "sizes must be below 2^31";
    else if (tooMany(p.m, p.n) || tooMany(p.n, p.k) || tooMany(p.m, p.k))
        plan.refusal = "a matrix has more than 2^44 elements, which no device can hold";
    else if (!is(p.out, "f32") && !is(p.out, "bf16") && (is(p.op, "matmul") || is(p.op, "dequantize")))
        plan.refusal = std::string("results must be f32 or bf16, not ") + (p.out ? p.out : "none");
    if (!plan.refusal.empty()) return plan;

    if (is(p.op, "matmul")) {
        if (!p.weight || !p.act)
            plan.refusal = "the problem does not name its formats";
        else
            planProduct(p, libraries, plan);
    } else if (is(p.op, "dequantize") && p.weight) {
        plan.refusal = readWeight(plugin::given(p.weight), p.n, p.k, plan.weight);
        if (plan.refusal.empty() && plan.weight.meaning == CodeMeaning::Float)
            plan.refusal = "weights of a float format need no decoding";
        if (plan.refusal.empty()) plan.variants.push_back(row(Path::Dequantize));
    } else if ((is(p.op, "quantize") || is(p.op, "quantize_stats")) && p.weight) {
        plan.measures = is(p.op, "quantize_stats");
        planQuantize(p, plan);
    } else if (is(p.op, "quant_act")) {
        plan.variants.push_back(row(Path::QuantizeActivations));
    } else
        plan.refusal = std::string("there is no operation ") + (p.op ? p.op : "");
    return plan;
}

double nmseLimit(const VariantRow& row, const qs_problem& p) {
    if (row.path == Path::Quantize || row.path == Path::QuantizeBySearch || row.path == Path::QuantizeActivations)
        return -1; // must be exact
    if (row.path == Path::Dequantize && !is(p.out, "bf16")) return -1;
    const double rounded = is(p.out, "bf16") ? 0x1p-16 : 0; // rounding to bf16 changes a value by at most 2^-8 of it
    if (row.path == Path::Integers) return 1e-12 + rounded;
    if (row.path == Path::E4m3) return 1e-3; // the sums of these tensor cores keep about 14 bits
    if (row.path == Path::F32) return 1e-9 + rounded;
    if (row.path == Path::Dequantize) return rounded + 1e-9;
    // x, the level and sometimes level * scale are rounded to bf16. Each rounding adds about 2.5e-6. Sums of few terms
    // have larger errors, because these do not average out.
    return (p.k < 64 ? 1.4e-4 : 2e-5) + rounded;
}

CacheStream cacheStream(std::size_t l2) {
    const std::size_t bytes = l2 / 4 / 4096 * 4096;
    return {bytes, bytes ? int((std::size_t(1) << 30) / bytes) + 2 : 0};
}

TiledWeight tiled(const WeightLayout& w, const Tiling& tiling, bool wIsKn, std::int64_t n, std::int64_t k,
                  const std::uint8_t* bytes, const float* scales) {
    const auto affine = tiling.bits == 2 ? affineLevels(w.levels) : std::nullopt;
    std::vector<std::uint8_t> codes(std::size_t(n * k));
    for (std::int64_t row = 0; row < w.rows; ++row)
        for (std::int64_t column = 0; column < w.columns; ++column) {
            const unsigned code = w.codeAt(bytes, row, column);
            codes[std::size_t(wIsKn ? column * k + row : row * k + column)] =
                affine ? affine->codes[code] : std::uint8_t(code);
        }
    std::vector<float> levels;
    if (!w.isSignedBytes() && !affine) levels = w.levels, levels.resize(std::size_t(1) << tiling.bits, 0.f);
    const Codes from{tiling.bits, n, k, codes, levels, affine.has_value(), affine ? affine->offset : 0.f};
    const float step = affine ? affine->step : 1.f;
    return tile(from, tiling.mode, tiling.block, [&](std::int64_t ni, std::int64_t ki) {
        return w.scaleCount ? step * scales[wIsKn ? w.scaleIndex(ki, ni) : w.scaleIndex(ni, ki)] : step;
    });
}

} // namespace qs::cuda
