// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantized weights of every format, packing and scale from random codes, and the dense weights they decode to. The
// packing code here shares nothing with the kernels, so it checks their unpacking.

#include "kernels/format.h"
#include "kernels/matmul.h"
#include "kernels/small_float.h"
#include "kernels/stored_weight.h"

#include <cmath>
#include <cstring>
#include <random>

namespace qs::test {

struct FormatCase {
    const char* name;
    WeightFormat format;
    bool padded = false; ///< stored rows are padded to whole blocks
};

inline std::vector<FormatCase> formatCases() {
    using enum NumberType;
    constexpr Packing NoPacking = Packing::None;
    constexpr auto PairHiFirst = Packing::PairHiFirst, PairLoFirst = Packing::PairLoFirst, Planar = Packing::Planar;
    constexpr auto QuadLoFirst = Packing::QuadLoFirst, OctetLoFirst = Packing::OctetLoFirst;
    const std::vector<float> nf4(nf4Levels().begin(), nf4Levels().end()),
        poly(nf4PolyLevels().begin(), nf4PolyLevels().end());
    const std::vector<float> e2m1 = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
    std::vector<FormatCase> cases;
    const auto add = [&](const char* name, const char* id, int bits, NumberType element, Packing packing,
                         NumberType scale, int blockAxis, std::size_t block, int channelAxis, int bias,
                         std::vector<float> levels, bool padded = false, int packAxis = 1) {
        cases.push_back({name,
                         {.id = id,
                          .bits = bits,
                          .element = element,
                          .packing = packing,
                          .packAxis = packing == NoPacking ? -1 : packAxis,
                          .scale = scale,
                          .blockAxis = blockAxis,
                          .channelAxis = channelAxis,
                          .block = block,
                          .codeBias = bias,
                          .levels = std::move(levels)},
                         padded});
    };
    for (const auto& [name, block] : std::initializer_list<std::pair<const char*, std::size_t>>{{"nf4:64", 64},
                                                                                                {"nf4:16", 16},
                                                                                                {"nf4:6", 6},
                                                                                                {"nf4:10", 10},
                                                                                                {"nf4:100", 100},
                                                                                                {"nf4:4096", 4096},
                                                                                                {"nf4:32", 32}})
        add(name, "nf4", 4, U8, PairHiFirst, F32, 1, block, -1, 0, nf4, true);
    add("nf4 poly", "nf4", 4, U8, PairHiFirst, F32, 1, 64, -1, 0, poly, true);
    add("nf4:64 unpadded, f16 scales", "nf4", 4, U8, PairHiFirst, F16, 1, 64, -1, 0, nf4);
    add("int8 rows", "int8", 8, I8, NoPacking, F32, -1, 0, 0, 0, {});
    add("int8 columns", "int8", 8, I8, NoPacking, F32, -1, 0, 1, 0, {});
    add("int8 tensor", "int8", 8, I8, NoPacking, F32, -1, 0, -1, 0, {});
    add("int8:32", "int8", 8, I8, NoPacking, F32, 1, 32, -1, 0, {});
    add("int8:20", "int8", 8, I8, NoPacking, Bf16, 1, 20, -1, 0, {});
    add("int8 tiles down", "int8", 8, I8, NoPacking, F32, 0, 24, -1, 0, {});
    add("uint8 bias -128", "int8", 8, U8, NoPacking, F32, -1, 0, 0, -128, {});
    add("int4:32 lo first", "int4", 4, U8, PairLoFirst, F16, 1, 32, -1, -8, {});
    add("int4 rows planar", "int4", 4, U8, Planar, F32, -1, 0, 0, -8, {});
    add("ternary none", "ternary", 2, U8, QuadLoFirst, None, -1, 0, -1, -1, {});
    add("ternary rows", "ternary", 2, U8, QuadLoFirst, F32, -1, 0, 0, -1, {});
    add("ternary:64", "ternary", 2, U8, QuadLoFirst, F32, 1, 64, -1, -1, {});
    add("ternary planar down", "ternary", 2, U8, Planar, None, -1, 0, -1, -1, {}, false, 0);
    add("binary none", "binary", 1, U8, OctetLoFirst, None, -1, 0, -1, 0, {-1, 1});
    add("binary:64", "binary", 1, U8, OctetLoFirst, F32, 1, 64, -1, 0, {-1, 1});
    add("binary rows", "binary", 1, U8, OctetLoFirst, F32, -1, 0, 0, 0, {-1, 1});
    add("fp8 rows", "fp8_e4m3", 8, Fp8E4m3, NoPacking, F32, -1, 0, 0, 0, {});
    add("fp8 rows as a table", "fp8_e4m3", 8, U8, NoPacking, F32, -1, 0, 0, 0, floatTable(*findFormat("fp8_e4m3")));
    for (const char* id : {"fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz"}) {
        add(id, id, 8, U8, NoPacking, F32, -1, 0, 0, 0, floatTable(*findFormat(id)));
        add(id, id, 8, U8, NoPacking, F32, 1, 24, -1, 0, floatTable(*findFormat(id)));
    }
    add("int8:3", "int8", 8, I8, NoPacking, F32, 1, 3, -1, 0, {});
    add("mxfp4", "codebook", 4, U8, PairLoFirst, E8m0, 1, 32, -1, 0, e2m1);
    std::vector<float> many(256);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::sin(float(i));
    add("codebook of 256", "codebook", 8, U8, NoPacking, F32, 1, 64, -1, 0, many);
    add("bf16", "bf16", 16, Bf16, NoPacking, None, -1, 0, -1, 0, {});
    add("f16", "f16", 16, F16, NoPacking, None, -1, 0, -1, 0, {});
    add("f32", "f32", 32, F32, NoPacking, None, -1, 0, -1, 0, {});
    return cases;
}

struct Weight {
    MatmulProblem problem;
    std::vector<std::uint8_t> codes, scales;
    std::vector<float> bias, dense; ///< dense [N,K] in f32: the decoded weights
    WeightOperand operand() const {
        return {codes.data(), rowBytes, scales.data(), scaleCols, problem.bias ? bias.data() : nullptr};
    }
    std::size_t rowBytes = 0, scaleCols = 0;
};

inline float storeScale(NumberType type, float value, std::vector<std::uint8_t>& into, std::size_t i) {
    const std::uint16_t half = type == NumberType::F16 ? f32ToF16(value) : f32ToBf16(value);
    switch (type) {
    case NumberType::F32: std::memcpy(&into[4 * i], &value, 4); return value;
    case NumberType::F16: std::memcpy(&into[2 * i], &half, 2); return f16ToF32(half);
    case NumberType::Bf16: std::memcpy(&into[2 * i], &half, 2); return bf16ToF32(half);
    default: into[i] = std::uint8_t(127 + int(value * 4)); return std::ldexp(1.0f, int(value * 4));
    }
}

/// Sets up the problem without weights. Returns false if the packing cannot hold this shape.
inline bool makeProblem(const FormatCase& from, std::size_t n, std::size_t k, bool kn, MatmulProblem& p) {
    const WeightFormat& f = from.format;
    p.n = n, p.k = k, p.weightIsKn = kn, p.weight = f;
    const std::size_t perByte = f.bits < 8 ? 8 / std::size_t(f.bits) : 1;
    return f.packing != Packing::Planar || (f.packAxis == 0 ? p.rows() : p.cols()) % perByte == 0;
}

/// Returns false if the packing cannot hold this shape.
inline bool makeWeight(const FormatCase& from, std::size_t n, std::size_t k, bool kn, unsigned seed, Weight& w) {
    const WeightFormat& f = from.format;
    MatmulProblem& p = w.problem;
    if (!makeProblem(from, n, k, kn, p)) return false;
    const std::size_t rows = p.rows(), cols = p.cols(), perByte = f.bits < 8 ? 8 / std::size_t(f.bits) : 1;
    const std::size_t width = from.padded ? (cols + f.block - 1) / f.block * f.block : cols;
    const bool down = f.packAxis == 0;
    w.rowBytes =
        f.bits < 8 && !down ? (width + perByte - 1) / perByte : width * std::size_t(f.bits > 8 ? f.bits / 8 : 1);
    w.codes.assign((down ? rows / perByte : rows) * w.rowBytes, 0);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> positive(0.25f, 2.0f);
    // Decoded scales: one per element of the stored matrix.
    std::vector<float> scale(rows * cols, 1.0f);
    w.scaleCols = f.blockAxis == 1 ? (cols + f.block - 1) / f.block : 0;
    if (f.scale != NumberType::None) {
        const auto index = [&](std::size_t r, std::size_t c) -> std::size_t {
            if (f.blockAxis == 1) return r * w.scaleCols + c / f.block;
            if (f.blockAxis == 0) return r / f.block * cols + c;
            return f.channelAxis < 0 ? 0 : f.channelAxis == 0 ? r : c;
        };
        const std::size_t count = index(rows - 1, cols - 1) + 1;
        w.scales.assign(count * 4, 0);
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) values[i] = storeScale(f.scale, positive(random), w.scales, i);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < cols; ++c) scale[r * cols + c] = values[index(r, c)];
    }
    w.dense.assign(n * k, 0.0f);
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < cols; ++c) {
            std::uint8_t* row = w.codes.data() + (down ? r % (rows / perByte) : r) * w.rowBytes;
            float value = normal(random);
            unsigned code = random();
            if (f.element == NumberType::F32) {
                std::memcpy(row + 4 * c, &value, 4);
            } else if (f.element == NumberType::F16 || f.element == NumberType::Bf16) {
                const bool f16 = f.element == NumberType::F16;
                const std::uint16_t half = f16 ? f32ToF16(value) : f32ToBf16(value);
                std::memcpy(row + 2 * c, &half, 2);
                value = f16 ? f16ToF32(half) : bf16ToF32(half);
            } else {
                if (f.id == "ternary") code %= 3;
                if (f.id == "int8" && f.element == NumberType::I8) code = code % 255 - 127;
                code &= (1u << f.bits) - 1;
                if (f.element == NumberType::Fp8E4m3 && (code & 0x7f) == 0x7f) code = 0;
                if (f.bits == 8 && !f.levels.empty() && std::isnan(f.levels[code])) code = 0;
                switch (f.packing) {
                case Packing::None: row[c] = std::uint8_t(code); break;
                case Packing::PairHiFirst: row[c / 2] |= std::uint8_t(code << (c % 2 ? 0 : 4)); break;
                case Packing::PairLoFirst: row[c / 2] |= std::uint8_t(code << (c % 2 ? 4 : 0)); break;
                case Packing::QuadLoFirst: row[c / 4] |= std::uint8_t(code << (c % 4 * 2)); break;
                case Packing::OctetLoFirst: row[c / 8] |= std::uint8_t(code << (c % 8)); break;
                case Packing::Planar:
                    if (down)
                        row[c] |= std::uint8_t(code << (r / (rows / perByte) * std::size_t(f.bits)));
                    else
                        row[c % (cols / perByte)] |= std::uint8_t(code << (c / (cols / perByte) * std::size_t(f.bits)));
                }
                if (f.element == NumberType::Fp8E4m3)
                    value = fp8E4m3ToF32(std::uint8_t(code));
                else if (!f.levels.empty())
                    value = f.levels[code];
                else
                    value = float((f.element == NumberType::I8 ? int(std::int8_t(code)) : int(code)) + f.codeBias);
            }
            w.dense[kn ? c * k + r : r * k + c] = value * scale[r * cols + c];
        }
    }
    w.bias.resize(n);
    for (float& b : w.bias) b = normal(random);
    return true;
}

} // namespace qs::test
