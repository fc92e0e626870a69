// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/operand.h"

#include <cmath>
#include <limits>

namespace qs::pjrt {
namespace {

constexpr std::int64_t kLargestSide = std::int64_t(1) << 24, kMostElements = std::int64_t(1) << 34;

std::string text(const char* value, const char* absent = "") { return value == nullptr ? absent : value; }

/// Levels that are step * code + bias with whole numbers in the range of an i8.
bool evenlySpaced(const float* levels, std::uint32_t n, int& step, int& bias) {
    if (n < 2) return false;
    const float first = levels[0], gap = levels[1] - levels[0];
    if (first != std::nearbyint(first) || gap != std::nearbyint(gap) || gap == 0 || std::abs(first) > 127 ||
        std::abs(gap) > 127)
        return false;
    for (std::uint32_t i = 0; i < n; ++i) {
        const float expected = first + gap * float(i);
        if (levels[i] != expected || expected < -128 || expected > 127) return false;
    }
    step = int(gap);
    bias = int(first);
    return true;
}

std::string readOrder(const qs_format& f, Weight& w) {
    const auto packing = text(f.packing, "none");
    if (packing == "none") return {};
    struct Row {
        const char* name;
        int bits;
        Order order;
    };
    static constexpr Row kRows[] = {{"pair_hi_first", 4, Order::HighFirst},
                                    {"pair_lo_first", 4, Order::LowFirst},
                                    {"quad_lo_first", 2, Order::LowFirst},
                                    {"octet_lo_first", 1, Order::LowFirst}};
    bool known = false;
    for (const auto& row : kRows)
        if (packing == row.name && w.bits == row.bits) {
            w.order = row.order;
            known = true;
        }
    if (packing == "planar" && (w.bits == 1 || w.bits == 2 || w.bits == 4)) {
        w.order = Order::Planar;
        known = true;
    }
    if (!known) return "the packing \"" + packing + "\" of " + std::to_string(w.bits) + "-bit codes is not known here";
    if (f.pack_axis != 1)
        return "codes are packed along axis " + std::to_string(f.pack_axis) + "; only rows can be unpacked";
    w.perByte = 8 / w.bits;
    if (w.order == Order::Planar && w.cols % w.perByte != 0)
        return "planar rows of " + std::to_string(w.cols) + " codes do not fill their bytes";
    return {};
}

std::string readScale(const qs_format& f, Weight& w) {
    w.scaleDtype = text(f.scale_dtype, "none");
    if (text(f.zero_dtype, "none") != "none") return "zero points are not supported";
    if (w.scaleDtype == "none") return {};
    if (w.scaleDtype != "f32" && w.scaleDtype != "bf16" && w.scaleDtype != "f16" && w.scaleDtype != "e8m0")
        return "scales of type \"" + w.scaleDtype + "\" are not known here";
    if (f.block != 0) {
        if (f.block > std::uint64_t(kLargestSide))
            return "blocks of " + std::to_string(f.block) + " elements are too long";
        if (f.block_axis != 0 && f.block_axis != 1) return "blocks need an axis, 0 or 1";
        w.block = std::int64_t(f.block);
        w.scale = f.block_axis == 1 ? ScaleOf::BlockOfColumns : ScaleOf::BlockOfRows;
    } else if (f.channel_axis == -1) {
        w.scale = ScaleOf::Tensor;
    } else if (f.channel_axis == 0 || f.channel_axis == 1) {
        w.scale = f.channel_axis == 0 ? ScaleOf::Row : ScaleOf::Column;
    } else {
        return "scales along axis " + std::to_string(f.channel_axis) + " of a matrix";
    }
    return {};
}

std::string readMeaning(const qs_format& f, Weight& w) {
    if (w.format == "f32" || w.format == "bf16" || w.format == "f16") {
        w.meaning = Meaning::Float;
        return w.order == Order::OnePerElement ? "" : "packed floats";
    }
    if (w.bits != 1 && w.bits != 2 && w.bits != 4 && w.bits != 8) return "codes of " + std::to_string(w.bits) + " bits";
    if (f.codebook != nullptr && f.codebook_n > 0) {
        if (f.codebook_n > 1u << w.bits) return "a codebook of more entries than codes";
        for (std::uint32_t i = 0; i < f.codebook_n; ++i)
            if (w.bits <= 4 && !std::isfinite(f.codebook[i])) return "a codebook with a level that is not finite";
        w.meaning = evenlySpaced(f.codebook, f.codebook_n, w.step, w.bias) ? Meaning::Integer : Meaning::Table;
        w.table.assign(f.codebook, f.codebook + f.codebook_n);
    } else if (auto table = fp8Table(w.format); !table.empty()) {
        if (w.bits != 8) return w.format + " of " + std::to_string(w.bits) + " bits";
        w.meaning = Meaning::Table;
        w.table = std::move(table);
    } else if (w.format == "binary") { // codes 0 and 1 are -1 and +1
        w.meaning = Meaning::Integer;
        w.step = 2;
        w.bias = -1;
    } else if (w.format.starts_with("int") || w.format == "ternary") {
        w.meaning = Meaning::Integer;
        w.bias = f.code_bias;
        if (w.bias < -128 || w.bias > 127) return "a code bias of " + std::to_string(w.bias);
    } else {
        return "the format \"" + w.format + "\" came without its codebook";
    }
    if (w.meaning == Meaning::Table) w.table.resize(std::size_t(1) << w.bits, 0.0f);
    return {};
}

std::string readWeight(const qs_problem& p, Operands& o) {
    if (p.weight == nullptr || p.weight->format == nullptr) return "the problem names no weight format";
    const auto& f = *p.weight;
    auto& w = o.weight;
    w.format = f.format;
    w.kn = (p.flags & QS_PROBLEM_W_IS_KN) != 0;
    w.rows = w.kn ? o.k : o.n;
    w.cols = w.kn ? o.n : o.k;
    w.bits = int(f.bits);
    if (f.row_multiple > std::uint64_t(kLargestSide))
        return "rows padded to multiples of " + std::to_string(f.row_multiple);
    w.rowMultiple = std::int64_t(f.row_multiple);
    if (auto no = readOrder(f, w); !no.empty()) return no;
    if (auto no = readScale(f, w); !no.empty()) return no;
    return readMeaning(f, w);
}

std::string readAct(const qs_problem& p, Operands& o) {
    const std::string format = p.act == nullptr ? "f32" : text(p.act->format, "f32");
    const bool dynamic = (p.flags & QS_PROBLEM_DYNAMIC_ACT) != 0;
    if (format == "int8") {
        if (!dynamic && (p.act->block != 0 || (text(p.act->scale_dtype, "f32") != "f32")))
            return "int8 activations need one f32 scale a row";
        o.act = dynamic ? Act::Int8Dynamic : Act::Int8Given;
        return {};
    }
    if (dynamic) return "activations can be quantized to int8 only, not to " + format;
    if (format != "f32" && format != "bf16") return "activations of type \"" + format + "\"";
    o.act = format == "f32" ? Act::F32 : Act::BF16;
    return {};
}

} // namespace

std::int64_t Weight::scaleCount() const {
    switch (scale) {
    case ScaleOf::None: return 0;
    case ScaleOf::Tensor: return 1;
    case ScaleOf::Row: return rows;
    case ScaleOf::Column: return cols;
    case ScaleOf::BlockOfColumns: return rows * ((cols + block - 1) / block);
    case ScaleOf::BlockOfRows: return (rows + block - 1) / block * cols;
    }
    return 0;
}

std::string readOperands(const qs_problem& p, Operands& o) {
    const auto op = text(p.op);
    o.m = p.m;
    o.n = p.n;
    o.k = p.k;
    for (const auto side : {p.m, p.n, p.k})
        if (side < 1 || side > kLargestSide) return "a side of " + std::to_string(side) + " elements";
    if (p.n * p.k > kMostElements || p.m * p.k > kMostElements || p.m * p.n > kMostElements)
        return "a matrix of more than 2^34 elements";
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
    if (o.out != "f32" && o.out != "bf16") return "results of type \"" + o.out + "\"";
    if (auto no = readWeight(p, o); !no.empty()) return no;
    return o.op == Op::Dequantize ? "" : readAct(p, o);
}

std::vector<float> fp8Table(const std::string& format) {
    struct Row {
        const char* format;
        int mantissa, bias;
        bool fnuz, ieee; ///< fnuz: no -0, one NaN; ieee: has infinities
    };
    static constexpr Row kRows[] = {{"fp8_e4m3", 3, 7, false, false},
                                    {"fp8_e5m2", 2, 15, false, true},
                                    {"fp8_e4m3fnuz", 3, 8, true, false},
                                    {"fp8_e5m2fnuz", 2, 16, true, false}};
    for (const auto& row : kRows) {
        if (format != row.format) continue;
        std::vector<float> table(256);
        for (int code = 0; code < 256; ++code) {
            const int magnitude = code & 127, mantissa = magnitude & ((1 << row.mantissa) - 1);
            const int exponent = magnitude >> row.mantissa, top = (1 << (7 - row.mantissa)) - 1;
            float value = exponent == 0
                              ? std::ldexp(float(mantissa), 1 - row.bias - row.mantissa)
                              : std::ldexp(1 + std::ldexp(float(mantissa), -row.mantissa), exponent - row.bias);
            if (row.ieee && exponent == top)
                value =
                    mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
            if (!row.ieee && !row.fnuz && magnitude == 127) value = std::numeric_limits<float>::quiet_NaN();
            if (row.fnuz && code == 128) value = std::numeric_limits<float>::quiet_NaN();
            table[std::size_t(code)] = code & 128 ? -value : value;
        }
        return table;
    }
    return {};
}

} // namespace qs::pjrt
