// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/format.h"

#include <array>

namespace qs {
namespace {

// eformer quantization_functions.get_nf4: quantiles of N(0,1), exactly as printed there.
constexpr std::array<float, 16> kNf4 = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

// eformer nf4xf32_to_f32; each product and sum rounded to f32 (the unit is compiled with -ffp-contract=off).
std::array<float, 16> polynomialLevels() {
    std::array<float, 16> out{};
    for (int code = 0; code < 16; ++code) {
        const float x = float(code);
        float y = 1.82943132356953e-5f * x - 0.00068587779130373f;
        y = x * y + 0.0100420261313669f;
        y = x * y - 0.0722703570217226f;
        y = x * y + 0.346075459755188f;
        out[std::size_t(code)] = x * y - 0.994166218659335f;
    }
    return out;
}
const std::array<float, 16> kNf4Poly = polynomialLevels();

constexpr std::array<float, 255> int8Levels() {
    std::array<float, 255> out{};
    for (int i = 0; i < 255; ++i) out[std::size_t(i)] = float(i - 127);
    return out;
}
constexpr auto kInt8 = int8Levels();
constexpr std::array<float, 2> kBinary = {-1.0f, 1.0f};
constexpr std::array<float, 3> kTernary = {-1.0f, 0.0f, 1.0f};

constexpr std::uint8_t kinds(ScaleKind a) { return std::uint8_t(a); }
template<class... More> constexpr std::uint8_t kinds(ScaleKind a, More... more) {
    return std::uint8_t(std::uint8_t(a) | kinds(more...));
}

// A line per kind of fact, the same in every row; clang-format would make each fact a line.
// clang-format off
const std::array<FormatTraits, 7> kFormats = {{
    {.id = "nf4", .title = "NF4", .summary = "4-bit NormalFloat: 16 quantiles of a normal distribution, scaled by the absolute maximum of a block.",
     .kind = FormatKind::Codebook, .bits = 4, .levels = kNf4, .polyLevels = kNf4Poly, .zeroCode = 7, .valueOffset = 0,
     .scaleKinds = kinds(ScaleKind::Block), .defaultScale = ScaleKind::Block, .defaultBlock = 64,
     .minBlock = 2, .maxBlock = 65536, .blockMultiple = 2, .padsLastBlock = true,
     .calibrations = "absmax", .dialects = "eformer", .computeInput = true,
     .source = "eformer quantize_and_pack_nf4"},
    {.id = "int8", .title = "INT8", .summary = "Symmetric 8-bit integers, -127 to 127, scaled by the absolute maximum.",
     .kind = FormatKind::Integer, .bits = 8, .levels = kInt8, .polyLevels = {}, .zeroCode = 127, .valueOffset = -127,
     .scaleKinds = kinds(ScaleKind::Axes, ScaleKind::Tensor, ScaleKind::Block), .defaultScale = ScaleKind::Axes, .defaultBlock = 64,
     .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
     .calibrations = "absmax", .dialects = "eformer", .computeInput = true,
     .source = "eformer quantize_int8"},
    {.id = "binary", .title = "Binary", .summary = "The sign of each value, 0 counting as +1; scaled by the mean magnitude (XNOR-Net) when a scale is asked for.",
     .kind = FormatKind::Sign, .bits = 2, .levels = kBinary, .polyLevels = {}, .zeroCode = 1, .valueOffset = 0,
     .scaleKinds = kinds(ScaleKind::None, ScaleKind::Tensor, ScaleKind::Axes, ScaleKind::Block), .defaultScale = ScaleKind::None, .defaultBlock = 64,
     .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
     .calibrations = "absmean", .dialects = "eformer", .computeInput = false,
     .source = "eformer quantization._config; XNOR-Net for the scaled members"},
    {.id = "ternary", .title = "Ternary", .summary = "-1, 0, +1 by a threshold of half a standard deviation; scaled as Ternary Weight Networks or BitNet b1.58 do when asked for.",
     .kind = FormatKind::Sign, .bits = 2, .levels = kTernary, .polyLevels = {}, .zeroCode = 1, .valueOffset = -1,
     .scaleKinds = kinds(ScaleKind::None, ScaleKind::Tensor, ScaleKind::Axes, ScaleKind::Block), .defaultScale = ScaleKind::None, .defaultBlock = 64,
     .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
     .calibrations = "absmean std", .dialects = "eformer bitnet", .computeInput = false,
     .source = "eformer quantization._config; Ternary Weight Networks; BitNet b1.58"},
    {.id = "f32", .title = "F32", .summary = "The values as 32-bit floats.",
     .kind = FormatKind::Identity, .bits = 32, .levels = {}, .polyLevels = {}, .zeroCode = -1, .valueOffset = 0,
     .scaleKinds = kinds(ScaleKind::None), .defaultScale = ScaleKind::None, .defaultBlock = 0,
     .minBlock = 0, .maxBlock = 0, .blockMultiple = 1, .padsLastBlock = false,
     .calibrations = "", .dialects = "eformer", .computeInput = false, .source = "IEEE 754 binary32"},
    {.id = "f16", .title = "F16", .summary = "The values rounded to 16-bit floats, half to even.",
     .kind = FormatKind::Identity, .bits = 16, .levels = {}, .polyLevels = {}, .zeroCode = -1, .valueOffset = 0,
     .scaleKinds = kinds(ScaleKind::None), .defaultScale = ScaleKind::None, .defaultBlock = 0,
     .minBlock = 0, .maxBlock = 0, .blockMultiple = 1, .padsLastBlock = false,
     .calibrations = "", .dialects = "eformer", .computeInput = false, .source = "IEEE 754 binary16"},
    {.id = "bf16", .title = "BF16", .summary = "The values rounded to bfloat16, half to even.",
     .kind = FormatKind::Identity, .bits = 16, .levels = {}, .polyLevels = {}, .zeroCode = -1, .valueOffset = 0,
     .scaleKinds = kinds(ScaleKind::None), .defaultScale = ScaleKind::None, .defaultBlock = 0,
     .minBlock = 0, .maxBlock = 0, .blockMultiple = 1, .padsLastBlock = false,
     .calibrations = "", .dialects = "eformer", .computeInput = false, .source = "bfloat16: the upper half of binary32"},
}};
// clang-format on

} // namespace

std::span<const FormatTraits> formats() { return kFormats; }

const FormatTraits* findFormat(std::string_view id) {
    for (const auto& format : kFormats)
        if (id == format.id) return &format;
    return nullptr;
}

std::span<const float> nf4Levels() { return kNf4; }
std::span<const float> nf4PolyLevels() { return kNf4Poly; }

} // namespace qs
