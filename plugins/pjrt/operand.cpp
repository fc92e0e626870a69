// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/operand.h"

#include "plugins/common/entry.h"

#include <cmath>
#include <span>

namespace qs::pjrt {
namespace {

constexpr std::int64_t kLargestSide = std::int64_t(1) << 24, kMostElements = std::int64_t(1) << 34;

std::string text(const char* value, const char* absent = "") { return value == nullptr ? absent : value; }

/// True if each level is step * code + bias, where step, bias and all levels are integers of the range of i8.
bool evenlySpaced(std::span<const float> levels, int& step, int& bias) {
    if (levels.size() < 2) return false;
    const float first = levels[0], gap = levels[1] - levels[0];
    if (first != std::nearbyint(first) || gap != std::nearbyint(gap) || gap == 0 || std::abs(first) > 127 ||
        std::abs(gap) > 127)
        return false;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const float expected = first + gap * float(i);
        if (levels[i] != expected || expected < -128 || expected > 127) return false;
    }
    step = int(gap);
    bias = int(first);
    return true;
}

std::string readWeight(const qs_problem& p, Operands& o) {
    if (p.weight == nullptr || p.weight->format == nullptr) return "the problem does not name the format of the weight";
    const auto f = plugin::given(p.weight);
    auto& w = o.weight;
    const bool kn = (p.flags & QS_PROBLEM_W_IS_KN) != 0;
    if (auto no = plugin::readWeightLayout(f, kn ? o.k : o.n, kn ? o.n : o.k, w); !no.empty()) return no;
    w.kn = kn;
    w.rowMultiple = std::max<std::int64_t>(1, std::int64_t(f.row_multiple));
    if (w.block > kLargestSide) return "blocks of " + std::to_string(w.block) + " elements are too long";
    if (w.packAxis == 0) return "codes are packed along axis 0; only rows can be unpacked";
    if (w.meaning == CodeMeaning::Integer) {
        w.isAffine = true, w.offset = w.bias;
    } else if (w.meaning == CodeMeaning::Level) {
        const std::span<const float> levels(w.levels.data(), w.levelsGiven);
        for (const float level : levels)
            if (w.bits <= 4 && !std::isfinite(level)) return "the codebook has a level that is not finite";
        w.isAffine = evenlySpaced(levels, w.step, w.offset);
    }
    return {};
}

std::string readAct(const qs_problem& p, Operands& o) {
    const std::string format = p.act == nullptr ? "f32" : text(p.act->format, "f32");
    const bool dynamic = (p.flags & QS_PROBLEM_DYNAMIC_ACT) != 0;
    if (format == "int8") {
        if (!dynamic && (p.act->block != 0 || (text(p.act->scale_dtype, "f32") != "f32")))
            return "int8 activations need one f32 scale per row";
        o.act = dynamic ? Act::Int8Dynamic : Act::Int8Given;
        return {};
    }
    if (dynamic) return "activations can be quantized to int8 only, not to " + format;
    if (format != "f32" && format != "bf16") return "activations of type \"" + format + "\" are not read here";
    o.act = format == "f32" ? Act::F32 : Act::BF16;
    return {};
}

} // namespace

std::string readOperands(const qs_problem& p, Operands& o) {
    const auto op = text(p.op);
    o.m = p.m;
    o.n = p.n;
    o.k = p.k;
    for (const auto side : {p.m, p.n, p.k})
        if (side < 1 || side > kLargestSide)
            return "the size " + std::to_string(side) + " is not within 1 and " + std::to_string(kLargestSide);
    if (p.n * p.k > kMostElements || p.m * p.k > kMostElements || p.m * p.n > kMostElements)
        return "a matrix has more than 2^34 elements";
    o.out = text(p.out, "f32");
    o.compute = text(p.compute);
    o.accum = text(p.accum);
    o.bias = (p.flags & QS_PROBLEM_BIAS) != 0;
    if (op == "matmul")
        o.op = Op::Matmul;
    else if (op == "dequantize")
        o.op = Op::Dequantize;
    else if (op == "quant_act")
        o.op = Op::QuantizeAct;
    else
        return "the operation \"" + op + "\" has no StableHLO program here";
    if (o.op == Op::QuantizeAct) {
        o.act = Act::Int8Dynamic;
        return {};
    }
    if (o.out != "f32" && o.out != "bf16") return "results must be f32 or bf16, not \"" + o.out + "\"";
    if (auto no = readWeight(p, o); !no.empty()) return no;
    return o.op == Op::Dequantize ? "" : readAct(p, o);
}

} // namespace qs::pjrt
