// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/plugins/support/abi_problem.h"

#include "kernels/format.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace qs::test {
namespace {

template<class T> std::vector<unsigned char> bytesOf(const std::vector<T>& values) {
    std::vector<unsigned char> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}
std::uint16_t toBf16(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return std::uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
float fromBf16(std::uint16_t h) {
    const std::uint32_t bits = std::uint32_t(h) << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}
float fp8(unsigned code) { // decodes e4m3
    const int exponent = int(code >> 3) & 15, mantissa = int(code) & 7;
    const float magnitude =
        exponent ? std::ldexp(1 + float(mantissa) / 8, exponent - 7) : std::ldexp(float(mantissa), -9);
    return code & 128 ? -magnitude : magnitude;
}

struct Layout { // storage of a format in the tests; levels[code] is its value without scale
    std::uint32_t bits;
    const char *packing, *dtype;
    int bias, perByte;
    bool highFirst;
    std::vector<float> levels; ///< by code; for 8-bit codes by byte
};
Layout layoutOf(const std::string& format) {
    if (format == "nf4") return {4, "pair_hi_first", "u8", 0, 2, true, {nf4Levels().begin(), nf4Levels().end()}};
    if (format == "int4") {
        std::vector<float> levels;
        for (int code = 1; code < 16; ++code) levels.push_back(float(code - 8));
        levels.insert(levels.begin(), -8.f);
        return {4, "pair_lo_first", "u8", -8, 2, false, levels};
    }
    if (format == "ternary") return {2, "quad_lo_first", "u8", -1, 4, false, {-1, 0, 1}};
    if (format == "binary") return {1, "octet_lo_first", "u8", 0, 8, false, {-1, 1}};
    Layout layout{8, "none", format == "int8" ? "i8" : "fp8_e4m3", 0, 1, false, std::vector<float>(256)};
    for (unsigned code = 0; code < 256; ++code)
        layout.levels[code] = format == "int8"      ? float(static_cast<signed char>(code))
                              : (code & 127) == 127 ? 0
                                                    : fp8(code);
    return layout;
}

} // namespace

std::string Case::name() const {
    std::string text = op + ' ' + weight + ' ' + (scale.empty() ? "" : scale + ' ') + act + ' ' + std::to_string(m) +
                       'x' + std::to_string(n) + 'x' + std::to_string(k);
    if (weight == "nf4" || scale == "block") text += " block " + std::to_string(block);
    return text + (kn ? " KN" : "") + (bias ? " bias" : "") + (out == "f32" ? "" : " to " + out);
}

std::uint32_t AbiProblem::random() {
    state_ ^= state_ << 13, state_ ^= state_ >> 17, state_ ^= state_ << 5;
    return state_;
}

const qs_tensor* AbiProblem::tensor(const char* role, const char* dtype, std::vector<std::int64_t> dims,
                                    std::vector<unsigned char> bytes) {
    bytes_.emplace_back(bytes.size() / 8 + 9);
    auto* at = reinterpret_cast<unsigned char*>(bytes_.back().data());
    at += (64 - reinterpret_cast<std::uintptr_t>(at) % 64) % 64;
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    qs_tensor t{};
    t.struct_size = sizeof t, t.rank = std::uint32_t(dims.size()), t.role = role, t.dtype = dtype;
    std::copy(dims.begin(), dims.end(), t.dims);
    t.data = at, t.bytes = bytes.size();
    tensors_.push_back(t);
    return &tensors_.back();
}

AbiProblem::AbiProblem(const Case& c, std::uint32_t seed, bool withReference) : state_(seed * 2654435761u + 1) {
    problem.struct_size = sizeof problem, weight_.struct_size = sizeof weight_, act_.struct_size = sizeof act_;
    problem.op = c.op == "dequantize" ? "dequantize" : c.op == "quantize" ? "quantize" : "matmul";
    problem.m = c.m, problem.n = c.n, problem.k = c.k;
    problem.flags = (c.kn ? QS_PROBLEM_W_IS_KN : 0) | (c.bias ? QS_PROBLEM_BIAS : 0);
    problem.out = c.out == "bf16" ? "bf16" : "f32";
    problem.weight = &weight_;
    makeWeight(c);
    outRows = c.m, outColumns = c.n;
    if (c.op != "matmul") {
        outRows = c.n, outColumns = c.k;
        reference.assign(dense.begin(), dense.end());
        return;
    }
    makeActivations(c);
    if (withReference) multiply(c);
}

void AbiProblem::makeWeight(const Case& c) {
    const std::int64_t rows = c.kn ? c.k : c.n, columns = c.kn ? c.n : c.k;
    source.resize(std::size_t(rows * columns));
    for (float& w : source) { // roughly normal, sigma 0.05, with some outliers
        float sum = 0;
        for (int i = 0; i < 4; ++i) sum += float(random() >> 8) / float(1 << 24) - 0.5f;
        w = 0.087f * sum * (random() % 512 == 0 ? 8.f : 1.f);
    }
    weight_.pack_axis = weight_.block_axis = weight_.channel_axis = -1;
    weight_.scale_dtype = weight_.zero_dtype = "none";
    weight_.packing = "none";
    static const char* const ids[] = {"f32", "bf16", "f16", "nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3"};
    weight_.format = *std::find(std::begin(ids), std::end(ids), c.weight);
    dense = source;
    if (c.weight == "f32" || c.weight == "bf16") {
        std::vector<std::uint16_t> halves;
        for (float& w : dense)
            if (c.weight == "bf16") halves.push_back(toBf16(w)), w = fromBf16(halves.back());
        weight_.bits = c.weight == "f32" ? 32 : 16;
        inputs.push_back(
            tensor("weight", weight_.format, {rows, columns}, halves.empty() ? bytesOf(dense) : bytesOf(halves)));
        return;
    }
    const Layout layout = layoutOf(c.weight);
    weight_.bits = layout.bits, weight_.packing = layout.packing, weight_.code_bias = layout.bias;
    weight_.pack_axis = layout.perByte > 1 ? 1 : -1, weight_.scale_dtype = "f32";
    if (c.weight == "nf4" || c.weight == "binary") {
        codebook_ = layout.levels;
        weight_.codebook = codebook_.data(), weight_.codebook_n = std::uint32_t(codebook_.size());
    }
    const std::string granularity = !c.scale.empty() ? c.scale : c.weight == "nf4" ? "block" : "row";
    const std::int64_t block = granularity == "block" ? std::int64_t(c.block) : columns;
    const std::int64_t blocks = (columns + block - 1) / block;
    if (granularity == "block") weight_.block = c.block, weight_.block_axis = 1;
    if (granularity == "block" && c.weight == "nf4") weight_.row_multiple = c.block;
    if (granularity == "row") weight_.channel_axis = 0;
    if (granularity == "column") weight_.channel_axis = 1;
    const auto group = [&](std::int64_t r, std::int64_t col) -> std::size_t {
        return std::size_t(granularity == "row"      ? r
                           : granularity == "column" ? col
                           : granularity == "tensor" ? 0
                                                     : r * blocks + col / block);
    };
    std::vector<float> scales(std::size_t(granularity == "row"      ? rows
                                          : granularity == "column" ? columns
                                          : granularity == "tensor" ? 1
                                                                    : rows * blocks));
    float top = 0;
    for (const float level : layout.levels) top = std::max(top, std::fabs(level));
    if (c.weight == "int8") top = 127;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t col = 0; col < columns; ++col)
            scales[group(r, col)] = std::max(scales[group(r, col)], std::fabs(source[std::size_t(r * columns + col)]));
    for (float& s : scales) s = s / top + FLT_MIN;

    const std::int64_t stored = c.weight == "nf4" ? blocks * block : columns; // nf4 rows are whole blocks
    const std::int64_t rowBytes = (stored + layout.perByte - 1) / layout.perByte;
    std::vector<unsigned char> packed(std::size_t(rows * rowBytes));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t col = 0; col < stored; ++col) {
            unsigned code = c.weight == "nf4" ? 7 : 0;
            if (col < columns) {
                float& w = dense[std::size_t(r * columns + col)];
                const float s = scales[group(r, col)], wanted = w / s;
                if (c.weight == "int8")
                    code = unsigned(int(std::nearbyint(wanted))) & 255;
                else
                    for (unsigned other = 0; other < layout.levels.size(); ++other)
                        if (std::fabs(layout.levels[other] - wanted) < std::fabs(layout.levels[code] - wanted))
                            code = other;
                w = layout.levels[code] * s;
            }
            const int place = int(col % layout.perByte);
            const int shift = int(layout.bits) * (layout.highFirst ? layout.perByte - 1 - place : place);
            packed[std::size_t(r * rowBytes + col / layout.perByte)] |= static_cast<unsigned char>(code << shift);
        }
    if (c.op == "quantize") {
        inputs.push_back(tensor("source", "f32", {rows, columns}, bytesOf(source)));
        return;
    }
    inputs.push_back(tensor("weight", layout.dtype, {rows, rowBytes}, packed));
    std::vector<std::int64_t> dims{std::int64_t(scales.size())};
    if (granularity == "block") dims = {rows, blocks};
    inputs.push_back(tensor("scale", "f32", dims, bytesOf(scales)));
}

void AbiProblem::makeActivations(const Case& c) {
    std::vector<float> x(std::size_t(c.m * c.k));
    for (float& value : x) value = float(random() >> 8) / float(1 << 23) - 1;
    act_.pack_axis = act_.block_axis = act_.channel_axis = -1;
    act_.packing = act_.scale_dtype = act_.zero_dtype = "none";
    act_.format = c.act == "bf16" ? "bf16" : c.act == "f32" ? "f32" : c.act == "dynamic fp8" ? "fp8_e4m3" : "int8";
    act_.bits = c.act == "bf16" ? 16 : c.act == "f32" ? 32 : 8;
    problem.act = &act_;
    x_.assign(x.begin(), x.end());
    if (c.act == "f32") acts.push_back(tensor("act", "f32", {c.m, c.k}, bytesOf(x)));
    if (c.act == "bf16") {
        std::vector<std::uint16_t> halves;
        for (std::size_t i = 0; i < x.size(); ++i) halves.push_back(toBf16(x[i])), x_[i] = fromBf16(halves[i]);
        acts.push_back(tensor("act", "bf16", {c.m, c.k}, bytesOf(halves)));
    }
    if (c.act == "int8" || c.act == "dynamic") {
        act_.scale_dtype = "f32", act_.channel_axis = 0;
        std::vector<float> scales;
        std::vector<signed char> codes;
        for (std::int64_t i = 0; i < c.m; ++i) {
            float top = 0;
            for (std::int64_t j = 0; j < c.k; ++j) top = std::max(top, std::fabs(x[std::size_t(i * c.k + j)]));
            const float s = top / 127 + FLT_MIN;
            scales.push_back(s);
            for (std::int64_t j = 0; j < c.k; ++j) {
                const auto at = std::size_t(i * c.k + j);
                codes.push_back(static_cast<signed char>(std::nearbyint(x[at] / s)));
                x_[at] = double(codes.back()) * s;
            }
        }
        if (c.act == "dynamic") {
            problem.flags |= QS_PROBLEM_DYNAMIC_ACT;
            acts.push_back(tensor("act", "f32", {c.m, c.k}, bytesOf(x)));
        } else {
            acts.push_back(tensor("act", "i8", {c.m, c.k}, bytesOf(codes)));
            acts.push_back(tensor("act_scale", "f32", {c.m}, bytesOf(scales)));
        }
    }
    if (c.act == "dynamic fp8") {
        act_.scale_dtype = "f32", act_.channel_axis = 0;
        problem.flags |= QS_PROBLEM_DYNAMIC_ACT;
        acts.push_back(tensor("act", "f32", {c.m, c.k}, bytesOf(x)));
        for (std::int64_t i = 0; i < c.m; ++i) {
            float top = 0;
            for (std::int64_t j = 0; j < c.k; ++j) top = std::max(top, std::fabs(x[std::size_t(i * c.k + j)]));
            const float s = top / 448 != 0 ? top / 448 : 1;
            for (std::int64_t j = 0; j < c.k; ++j) { // rounds to the nearest e4m3 value, ties to even
                const auto at = std::size_t(i * c.k + j);
                const double v = std::clamp(double(x[at] / s), -448.0, 448.0);
                const double step = std::ldexp(1.0, std::max(v == 0 ? -6 : std::ilogb(v), -6) - 3);
                x_[at] = std::nearbyint(v / step) * step * double(s);
            }
        }
    }
    if (!c.bias) return;
    for (std::int64_t i = 0; i < c.n; ++i) bias_.push_back(float(random() >> 8) / float(1 << 23) - 1);
    inputs.push_back(tensor("bias", "f32", {c.n}, bytesOf(bias_)));
}

void AbiProblem::multiply(const Case& c) {
    reference.assign(std::size_t(c.m * c.n), std::numeric_limits<double>::quiet_NaN());
    std::vector<float> turned; // [N,K]
    if (c.kn) {
        turned.resize(dense.size());
        for (std::int64_t j = 0; j < c.n; ++j)
            for (std::int64_t i = 0; i < c.k; ++i) turned[std::size_t(j * c.k + i)] = dense[std::size_t(i * c.n + j)];
    }
    const float* w = c.kn ? turned.data() : dense.data();
    constexpr std::int64_t kMost = std::int64_t(1) << 31; // products of numbers; for more, some rows of y are compared
    const std::int64_t step = std::max<std::int64_t>(1, c.m * c.n * c.k / kMost), count = (c.m + step - 1) / step;
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            for (std::int64_t i = row * step, j = 0; j < c.n; ++j) {
                const double* x = &x_[std::size_t(i * c.k)];
                const float* column = &w[std::size_t(j * c.k)];
                double sums[4] = {};
                for (std::int64_t l = 0; l < c.k; ++l) sums[l % 4] += x[l] * double(column[l]);
                const double sum = sums[0] + sums[1] + (sums[2] + sums[3]);
                reference[std::size_t(i * c.n + j)] = sum + (c.bias ? double(bias_[std::size_t(j)]) : 0.0);
            }
    };
    const std::int64_t many = c.m * c.n * c.k > (1 << 26) ? std::int64_t(std::thread::hardware_concurrency()) : 1;
    const std::int64_t parts = std::clamp<std::int64_t>(many, 1, count);
    if (parts == 1) return rows(0, count);
    std::vector<std::jthread> threads;
    for (std::int64_t part = 0; part < parts; ++part)
        threads.emplace_back([&rows, count, part, parts] { rows(count * part / parts, count * (part + 1) / parts); });
}

double nmse(const std::vector<float>& y, const std::vector<double>& reference) {
    // Without a reference nothing is shown to be correct.
    if (reference.empty() || y.size() != reference.size()) return std::numeric_limits<double>::infinity();
    double error = 0, power = 0;
    std::size_t compared = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        if (!std::isfinite(y[i])) return std::numeric_limits<double>::infinity();
        if (std::isnan(reference[i])) continue; // not computed
        ++compared;
        error += (double(y[i]) - reference[i]) * (double(y[i]) - reference[i]);
        power += reference[i] * reference[i];
    }
    if (!compared) return std::numeric_limits<double>::infinity();
    return power > 0 ? error / power : error > 0 ? std::numeric_limits<double>::infinity() : 0;
}

} // namespace qs::test
