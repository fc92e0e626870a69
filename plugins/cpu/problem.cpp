// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cpu/problem.h"
#include "plugins/cpu/context.h"

#include "kernels/format.h"
#include "kernels/kernel_set.h"
#include "kernels/matmul_operands.h"
#include "kernels/variant_choice.h"

#include <array>
#include <cmath>

namespace qs::cpu {
namespace {

/// The row of an 8-bit float format, or null.
const FormatTraits* smallFloat(std::string_view name) {
    const FormatTraits* format = findFormat(name);
    return format && format->kind == FormatKind::Float ? format : nullptr;
}

std::optional<NumberType> numberType(std::string_view name) {
    if (name.empty() || name == "none") return NumberType::None;
    if (name == "f32") return NumberType::F32;
    if (name == "f16") return NumberType::F16;
    if (name == "bf16") return NumberType::Bf16;
    if (name == "e8m0") return NumberType::E8m0;
    if (name == "fp8_e4m3") return NumberType::Fp8E4m3;
    if (name == "i8") return NumberType::I8;
    if (name == "u8") return NumberType::U8;
    if (name == "i32") return NumberType::I32;
    if (smallFloat(name)) return NumberType::U8; // kernels decode these bytes with a table
    return std::nullopt;
}

Packing packingOf(const plugin::WeightLayout& layout) {
    switch (layout.order) {
    case plugin::CodeOrder::OnePerElement: return Packing::None;
    case plugin::CodeOrder::HighFirst: return Packing::PairHiFirst;
    case plugin::CodeOrder::Planar: return Packing::Planar;
    case plugin::CodeOrder::LowFirst: break;
    }
    return layout.bits == 4 ? Packing::PairLoFirst : layout.bits == 2 ? Packing::QuadLoFirst : Packing::OctetLoFirst;
}

/// Converts the description of a stored weight to that of the kernels.
WeightFormat formatOf(const plugin::WeightLayout& layout) {
    WeightFormat w;
    w.id = layout.format;
    w.packing = packingOf(layout), w.packAxis = layout.packAxis;
    w.scale = *numberType(layout.scaleType);
    w.block = std::size_t(layout.block);
    using enum plugin::ScaleShare;
    w.blockAxis = layout.share == BlockOfColumns ? 1 : layout.share == BlockOfRows ? 0 : -1;
    w.channelAxis = layout.share == Row ? 0 : layout.share == Column ? 1 : -1;
    w.element = numberType(layout.dtype).value_or(NumberType::U8);
    const bool isDense = layout.meaning == plugin::CodeMeaning::Float;
    w.bits = !isDense && layout.perByte == 1 ? 8 : layout.bits; // a code alone in its byte takes 8 bits
    if (layout.meaning == plugin::CodeMeaning::Integer) w.codeBias = layout.bias;
    if (layout.meaning == plugin::CodeMeaning::Level && w.element != NumberType::Fp8E4m3)
        w.levels.assign(layout.levels.begin(), layout.levels.begin() + std::ptrdiff_t(layout.levelsGiven));
    return w;
}

std::string readNumbers(const qs_problem& theirs, MatmulProblem& mine) {
    if (theirs.m < 1 || theirs.n < 0 || theirs.k < 1) return "Empty shapes have nothing to compute.";
    constexpr int64_t most = int64_t(1) << 31;
    if (theirs.m > most || theirs.n > most || theirs.k > most) return "Shapes beyond 2^31 are not supported.";
    mine.m = std::size_t(theirs.m), mine.n = std::size_t(theirs.n), mine.k = std::size_t(theirs.k);
    mine.weightIsKn = theirs.flags & QS_PROBLEM_W_IS_KN, mine.bias = theirs.flags & QS_PROBLEM_BIAS;
    mine.dynamicAct = theirs.flags & QS_PROBLEM_DYNAMIC_ACT;
    const auto compute = numberType(text(theirs.compute) == "i8" ? "i8" : text(theirs.compute));
    const auto accum = numberType(text(theirs.accum)), out = numberType(text(theirs.out));
    if (!compute || !accum) return "The demanded arithmetic is not known.";
    mine.compute = *compute, mine.accum = *accum;
    mine.out = !out || *out == NumberType::None ? NumberType::F32 : *out;
    if (!out) return "Results are f32 or bf16.";
    return "";
}

std::size_t packedRowBytes(const WeightFormat& w, std::size_t cols) {
    if (w.packing == Packing::None || w.packAxis == 0) return cols * std::size_t(w.bits > 8 ? w.bits / 8 : 1);
    return (cols * std::size_t(w.bits) + 7) / 8;
}
std::size_t paddedCols(const WeightFormat& w, std::size_t cols) {
    return w.blockAxis == 1 ? (cols + w.block - 1) / w.block * w.block : cols;
}

std::string misfit(const qs_tensor& t, const char* role, std::size_t bytes, const void* memory) {
    if (!memory) return std::string("The tensor ") + role + " has no memory.";
    if (reinterpret_cast<std::uintptr_t>(memory) % 4) return std::string("The tensor ") + role + " is not aligned.";
    if (t.bytes == bytes) return "";
    return std::string("The tensor ") + role + " has " + std::to_string(t.bytes) + " bytes, but " +
           std::to_string(bytes) + " fit the problem.";
}
/// True if the bytes that follow from dims and dtype are equal to the tensor's `bytes`.
bool denseBytes(const qs_tensor& t, std::uint64_t* rows) {
    const auto type = numberType(text(t.dtype));
    if (!type || *type == NumberType::None || t.rank > 4) return false;
    const bool small = *type == NumberType::I8 || *type == NumberType::U8 || *type >= NumberType::E8m0;
    std::uint64_t bytes = *type == NumberType::F32 || *type == NumberType::I32 ? 4 : small ? 1 : 2;
    for (std::uint32_t i = 0; i < t.rank; ++i) {
        if (t.dims[i] < 0 || (t.dims[i] && bytes > (std::uint64_t(1) << 60) / std::uint64_t(t.dims[i]))) return false;
        bytes *= std::uint64_t(t.dims[i]);
    }
    *rows = t.rank ? std::uint64_t(t.dims[0]) : 1;
    return bytes == t.bytes;
}

std::string takeSource(const MatmulProblem& p, const qs_tensor& t, std::uint64_t rows, WeightOperand& into) {
    if (text(t.dtype) != "f32") return "The source's dtype " + std::string(text(t.dtype)) + " is not f32.";
    if (rows != p.rows()) return "The source's first dimension is not the problem's.";
    into.codes = t.data, into.rowBytes = p.cols() * 4;
    return misfit(t, "source", p.rows() * into.rowBytes, t.data);
}

std::string takeWeight(const Understood& asked, const qs_tensor& t, std::uint64_t rows, WeightOperand& into) {
    const plugin::WeightLayout& w = asked.layout;
    const auto type = numberType(text(t.dtype));
    const bool isBytes = asked.problem.weight.element == NumberType::Fp8E4m3 && *type == NumberType::U8;
    if (*type != asked.problem.weight.element && !isBytes)
        return "The weight's dtype " + std::string(text(t.dtype)) + " is not that of the format.";
    if (rows != std::uint64_t(w.storedRows)) return "The weight's first dimension is not the problem's.";
    into.codes = t.data, into.rowBytes = std::size_t(w.rowBytes);
    return misfit(t, "weight", w.weightBytes(), t.data);
}

std::string takeScale(const Understood& asked, const qs_tensor& t, WeightOperand& into) {
    const WeightFormat& w = asked.problem.weight;
    const auto type = numberType(text(t.dtype));
    if (*type != w.scale && !(w.scale == NumberType::E8m0 && *type == NumberType::U8))
        return "The scale's dtype is not that of the format.";
    into.scales = t.data;
    into.scaleCols = w.blockAxis == 1 ? std::size_t(asked.layout.rowStride) : 0;
    const std::size_t size = w.scale == NumberType::F32 ? 4 : w.scale == NumberType::E8m0 ? 1 : 2;
    return misfit(t, "scale", asked.layout.scaleCount * size, t.data);
}

} // namespace

Understood understand(const qs_problem* theirs) {
    Understood result;
    const qs_problem p = given(theirs);
    MatmulProblem& mine = result.problem;
    const std::string_view op = text(p.op);
    static constexpr std::array<std::pair<std::string_view, MatmulOp>, 5> ops = {
        {{"matmul", MatmulOp::Matmul},
         {"dequantize", MatmulOp::Dequantize},
         {"quantize", MatmulOp::Quantize},
         {"quantize_stats", MatmulOp::Quantize},
         {"quant_act", MatmulOp::QuantizeAct}}};
    const auto found = std::find_if(ops.begin(), ops.end(), [&](const auto& known) { return known.first == op; });
    if (found == ops.end()) return result.declined = "The operation " + std::string(op) + " is not known.", result;
    mine.op = found->second, mine.measure = op == "quantize_stats";
    result.declined = readNumbers(p, mine);
    if (!result.declined.empty()) return result;
    if (mine.op != MatmulOp::QuantizeAct) {
        if (!p.weight) return result.declined = "The problem does not say how its weight is stored.", result;
        result.declined = plugin::readWeightLayout(given(p.weight), std::int64_t(mine.rows()),
                                                   std::int64_t(mine.cols()), result.layout);
        if (!result.declined.empty()) return result;
        mine.weight = formatOf(result.layout);
    }
    if (mine.op == MatmulOp::Matmul) {
        const qs_format act = given(p.act);
        const auto type = text(act.format) == "int8" ? std::optional(NumberType::I8) : numberType(text(act.format));
        mine.act = type ? *type : NumberType::None;
    }
    if (const char* why = whyImpossible(mine)) result.declined = std::string(why) + ".";
    return result;
}

std::vector<const MatmulVariant*> variantsFor(const MatmulProblem& problem, std::string* why) {
    std::vector<const MatmulVariant*> found;
    for (const MatmulVariant* variant : matmulVariants()) {
        if (!variant->supported()) continue;
        if (const char* reason = variant->declines(problem)) {
            if (why && why->empty()) *why = std::string(reason) + ".";
            continue;
        }
        found.push_back(variant);
    }
    // First the variants made for this M, then those made for larger M, last the reference.
    const auto rank = [&](const MatmulVariant* v) {
        return v->fromM == 0 ? 2.0 : v->fromM > problem.m ? 1.0 : 1.0 / double(v->fromM + 1);
    };
    std::stable_sort(found.begin(), found.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });
    return found;
}

const MatmulVariant* fastestOf(std::span<const MatmulVariant* const> variants, const MatmulProblem& problem) {
    static VariantChoices choices;
    std::size_t meant = 0;
    while (meant < variants.size() && variants[meant]->fromM == variants.front()->fromM) ++meant;
    return meant ? &choices.fastest(variants.first(meant), problem) : nullptr;
}

Operands operandsOf(const Understood& asked, const qs_tensor* const* in, uint32_t n) {
    const MatmulProblem& problem = asked.problem;
    Operands result;
    const bool source = problem.op == MatmulOp::Quantize;
    bool weight = problem.op == MatmulOp::QuantizeAct, scale = source || problem.weight.scale == NumberType::None;
    bool bias = !problem.bias;
    for (uint32_t i = 0; i < n && result.refused.empty(); ++i) {
        if (!in || !in[i]) return result.refused = "A tensor is missing.", result;
        const qs_tensor t = given(in[i]);
        const std::string_view role = text(t.role);
        std::uint64_t rows = 0;
        if (!denseBytes(t, &rows)) {
            result.refused = "The bytes of the tensor " + std::string(role) + " do not fit its dims and dtype.";
        } else if (source && role == "source") {
            result.refused = takeSource(problem, t, rows, result.weight), weight = true;
        } else if (!source && role == "weight") {
            result.refused = takeWeight(asked, t, rows, result.weight), weight = true;
        } else if (role == "scale" && problem.weight.scale != NumberType::None && !source) {
            result.refused = takeScale(asked, t, result.weight), scale = true;
        } else if (role == "bias" && problem.bias && text(t.dtype) == "f32") {
            result.refused = misfit(t, "bias", problem.n * 4, t.data), bias = true;
            result.weight.bias = static_cast<const float*>(t.data);
        } else {
            result.refused = "The tensor " + std::string(role) + " has no place in this problem.";
        }
    }
    if (!result.refused.empty()) return result;
    if (!weight) result.refused = source ? "The tensor source is missing." : "The tensor weight is missing.";
    if (!scale) result.refused = "The tensor scale is missing.";
    if (!bias) result.refused = "The tensor bias is missing.";
    if (source && result.refused.empty() &&
        !std::isfinite(
            bestKernels().absMax(static_cast<const float*>(result.weight.codes), problem.n * problem.k, false)))
        result.refused = "The source holds NaN or infinity, which have no code.";
    return result;
}

Activations activationsOf(const MatmulProblem& problem, const qs_tensor* const* in, uint32_t n) {
    Activations result;
    const bool wanted = problem.op == MatmulOp::Matmul || problem.op == MatmulOp::QuantizeAct;
    const bool floats = problem.op == MatmulOp::QuantizeAct || problem.dynamicAct || problem.act == NumberType::F32;
    const char* dtype = floats ? "f32" : problem.act == NumberType::Bf16 ? "bf16" : "i8";
    const std::size_t size = floats ? 4 : problem.act == NumberType::Bf16 ? 2 : 1;
    for (uint32_t i = 0; i < n && result.refused.empty(); ++i) {
        if (!in || !in[i]) return result.refused = "A tensor is missing.", result;
        const qs_tensor t = given(in[i]);
        std::uint64_t rows = 0;
        if (!denseBytes(t, &rows)) {
            result.refused = "The bytes of the tensor " + std::string(text(t.role)) + " do not fit its dims and dtype.";
        } else if (wanted && text(t.role) == "act" && text(t.dtype) == dtype) {
            result.refused = misfit(t, "act", problem.m * problem.k * size, t.data);
            result.input.x = t.data;
        } else if (!floats && text(t.role) == "act_scale" && text(t.dtype) == "f32" && problem.act == NumberType::I8) {
            result.refused = misfit(t, "act_scale", problem.m * 4, t.data);
            result.input.scale = static_cast<const float*>(t.data);
        } else {
            result.refused = "The tensor " + std::string(text(t.role)) + " has no place in this run.";
        }
    }
    if (result.refused.empty() && wanted && !result.input.x) result.refused = "The tensor act is missing.";
    return result;
}

OutputSizes outputSizes(const MatmulProblem& p) {
    OutputSizes sizes;
    if (p.op == MatmulOp::QuantizeAct) return {p.m * p.k, p.m * 4, "i8"};
    if (p.op == MatmulOp::Quantize) {
        const WeightFormat& w = p.weight;
        const FormatTraits* format = findFormat(w.id);
        sizes.out = p.n * packedRowBytes(w, format && format->padsLastBlock ? paddedCols(w, p.k) : p.k);
        sizes.scale = storedScales(p, w.blockAxis == 1 ? (p.k + w.block - 1) / w.block : 0) * 4;
        const bool floats = format && (format->kind == FormatKind::Identity || format->kind == FormatKind::Float);
        sizes.outType = floats ? format->id : w.element == NumberType::I8 ? "i8" : "u8";
        sizes.sums = p.measure ? 4 * sizeof(double) : 0;
        return sizes;
    }
    sizes.out = (p.op == MatmulOp::Matmul ? p.m * p.n : p.n * p.k) * (p.out == NumberType::F32 ? 4 : 2);
    sizes.outType = p.out == NumberType::F32 ? "f32" : "bf16";
    return sizes;
}

Outputs outputsOf(const MatmulProblem& problem, qs_tensor* const* outs, uint32_t n) {
    Outputs result;
    const OutputSizes sizes = outputSizes(problem);
    for (uint32_t i = 0; i < n && result.refused.empty(); ++i) {
        if (!outs || !outs[i]) return result.refused = "A tensor is missing.", result;
        const qs_tensor t = given(outs[i]);
        if (text(t.role) == "out" && text(t.dtype) == sizes.outType) {
            result.refused = misfit(t, "out", sizes.out, t.out), result.output.out = t.out;
        } else if (text(t.role) == "out_scale" && sizes.scale && text(t.dtype) == "f32") {
            result.refused = misfit(t, "out_scale", sizes.scale, t.out), result.output.scale = t.out;
        } else if (text(t.role) == "out_sums" && sizes.sums && text(t.dtype) == "f64") {
            result.refused = misfit(t, "out_sums", sizes.sums, t.out);
            result.output.sums = static_cast<double*>(t.out);
        } else {
            result.refused = "The output " + std::string(text(t.role)) + " has no place in this run, or another dtype.";
        }
    }
    if (result.refused.empty() && !result.output.out) result.refused = "The output out is missing.";
    if (result.refused.empty() && sizes.scale && !result.output.scale)
        result.refused = "The output out_scale is missing.";
    if (result.refused.empty() && sizes.sums && !result.output.sums) result.refused = "The output out_sums is missing.";
    return result;
}

} // namespace qs::cpu
