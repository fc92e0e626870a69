// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/added_formats.h"
#include "kernels/blocks/block_set.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>

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

template<int most> constexpr std::array<float, 2 * most + 1> integersTo() {
    std::array<float, 2 * most + 1> out{};
    for (int i = 0; i < 2 * most + 1; ++i) out[std::size_t(i)] = float(i - most);
    return out;
}
constexpr auto kInt2 = integersTo<1>();
constexpr auto kInt3 = integersTo<3>();
constexpr auto kInt4 = integersTo<7>();
constexpr auto kInt5 = integersTo<15>();
constexpr auto kInt6 = integersTo<31>();
constexpr auto kInt7 = integersTo<63>();
constexpr auto kInt8 = integersTo<127>();

template<int low, int high> constexpr std::array<float, high - low + 1> integersBetween() {
    std::array<float, high - low + 1> out{};
    for (int i = low; i <= high; ++i) out[std::size_t(i - low)] = float(i);
    return out;
}
constexpr auto kFrom0To3 = integersBetween<0, 3>();
constexpr auto kFrom0To15 = integersBetween<0, 15>();
constexpr auto kFrom0To31 = integersBetween<0, 31>();
constexpr auto kSigned3 = integersBetween<-4, 3>();
constexpr auto kSigned4 = integersBetween<-8, 7>();
constexpr auto kSigned5 = integersBetween<-16, 15>();
constexpr auto kSigned6 = integersBetween<-32, 31>();
constexpr auto kSigned8 = integersBetween<-128, 127>();

constexpr float powerOfTwo(int exponent) { return std::bit_cast<float>(std::uint32_t(127 + exponent) << 23); }
constexpr float magnitude(const FloatShape& shape, unsigned bits) {
    const int exponent = int(bits >> shape.mantissa), whole = 1 << shape.mantissa;
    const int units = int(bits) % whole + (exponent > 0 ? whole : 0);
    return float(units) * powerOfTwo((exponent > 0 ? exponent : 1) - shape.bias - shape.mantissa);
}

/// The finite values of a float of at most 8 bits, `most` the bits of the largest, and the bits of each.
template<int most, bool minusZero, int signBit = 128> struct FloatTable {
    static constexpr int kNegative = most + (minusZero ? 1 : 0);
    std::array<float, std::size_t(kNegative + most + 1)> levels{};
    std::array<std::uint8_t, std::size_t(kNegative + most + 1)> bytes{};
    constexpr FloatTable(int mantissa, int bias) {
        const FloatShape shape{mantissa, bias, minusZero};
        for (int code = 0; code < kNegative + most + 1; ++code) {
            const int bits = code < kNegative ? most - code : code - kNegative;
            const float value = magnitude(shape, unsigned(bits));
            levels[std::size_t(code)] = code < kNegative ? -value : value;
            bytes[std::size_t(code)] = std::uint8_t(code < kNegative ? bits | signBit : bits);
        }
    }
};
constexpr FloatTable<0x7e, true> kE4m3(3, 7);
constexpr FloatTable<0x7b, true> kE5m2(2, 15);
constexpr FloatTable<0x7f, false> kE4m3fnuz(3, 8);
constexpr FloatTable<0x7f, false> kE5m2fnuz(2, 16);
// bitsandbytes' FP4: sign, then 3 bits that stand for 0, 1/16, 8, 12, 4, 6, 2 and 3 twelfths.
constexpr std::array<float, 16> kFp4 = {
    -12 / 12.0f, -8 / 12.0f,      -6 / 12.0f, -4 / 12.0f, -3 / 12.0f, -2 / 12.0f, -0.0625f / 12.0f, -0.0f,
    0.0f,        0.0625f / 12.0f, 2 / 12.0f,  3 / 12.0f,  4 / 12.0f,  6 / 12.0f,  8 / 12.0f,        12 / 12.0f};
constexpr std::array<std::uint8_t, 16> kFp4Bits = {11, 10, 13, 12, 15, 14, 9, 8, 0, 1, 6, 7, 4, 5, 2, 3};

// Yoshida 2023, "NF4 Isn't Information Theoretically Optimal (and that's Good)", the code for blocks of 64; they are what
// the author's generate_af4.py (github.com/davisyoshida/abnormal-floats) gives, and bitsandbytes' table.
constexpr std::array<float, 16> kAf4 = {
    -1.0f,       -0.69441008f, -0.51243739f, -0.3736951f, -0.25607552f, -0.14982478f, -0.04934812f, 0.0f,
    0.04273164f, 0.12934483f,  0.21961274f,  0.31675666f, 0.42563882f,  0.55496234f,  0.72424863f,  1.0f};
// QLoRA's NormalFloat with 3 bits (Dettmers et al. 2023, arXiv 2305.14314; bitsandbytes functional.py, create_normal_map, which
// has 4): quantiles q of N(0,1) at k = 2^bits / 2 = 4 places from 1 - d down to 1/2, the last one left out, d = (1/4k + 1/(4k-2)) / 2;
// -q at k - 1 places of the same ends; and 0; all divided by q(1 - d). tests/data/known/make_nf3.py computes them.
constexpr std::array<float, 8> kNf3 = {-1.0f, -0.535022736f, -0.246931434f, 0.0f, 0.18333748f, 0.381993949f, 0.622985721f, 1.0f};
constexpr FloatTable<0x7, true, 8> kE2m1(1, 1);
constexpr std::array<float, 2> kBinary = {-1.0f, 1.0f};
constexpr std::array<float, 3> kTernary = {-1.0f, 0.0f, 1.0f};

constexpr std::uint8_t kinds(ScaleKind a) { return std::uint8_t(a); }
template<class... More> constexpr std::uint8_t kinds(ScaleKind a, More... more) {
    return std::uint8_t(std::uint8_t(a) | kinds(more...));
}

// A line per kind of fact, the same in every row; clang-format would make each fact a line.
// clang-format off

/// The symmetric integers below 8 bits: blocks of 64, or as asked for.
template<std::size_t n> constexpr FormatTraits integerRow(const char* id, const char* title, const char* summary, int bits,
                                                          const std::array<float, n>& levels) {
    return {.id = id, .title = title, .summary = summary,
            .kind = FormatKind::Integer, .encoder = Encoder::RoundInteger, .bits = bits, .levels = levels, .polyLevels = {}, .zeroCode = int(n / 2), .valueOffset = -int(n / 2), .shape = {}, .bytes = {},
            .scaleKinds = kinds(ScaleKind::Axes, ScaleKind::Tensor, ScaleKind::Block), .defaultScale = ScaleKind::Block, .defaultBlock = 64,
            .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
            .scaledBy = GroupStatistic::AbsMax, .computeInput = false,
            .source = "AQT and MaxText intN, the maximum on the centre of the last level; AQT, qwix, compressed-tensors and (but for 7 bits) MLX by dialect",
            .affine = true, .stochastic = true, .tiles = true, .sparse = true};
}
/// The 8-bit floats: a scale per channel that puts the absolute maximum on the largest value.
template<int most, bool minusZero> constexpr FormatTraits floatRow(const char* id, const char* title, const char* summary, const char* source,
                                                                   const FloatTable<most, minusZero>& table, int mantissa, int bias) {
    return {.id = id, .title = title, .summary = summary,
            .kind = FormatKind::Float, .encoder = Encoder::RoundFloat, .bits = 8, .levels = table.levels, .polyLevels = {}, .zeroCode = table.kNegative, .valueOffset = 0, .shape = {mantissa, bias, minusZero}, .bytes = table.bytes,
            .scaleKinds = kinds(ScaleKind::None, ScaleKind::Axes, ScaleKind::Tensor, ScaleKind::Block), .defaultScale = ScaleKind::Axes, .defaultBlock = 64,
            .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
            .scaledBy = GroupStatistic::AbsMax, .computeInput = false, .source = source,
            .stochastic = true, .tiles = true, .sparse = true};
}
/// Small floats in blocks whose scales are small floats too.
template<class Table> constexpr FormatTraits blockFloatRow(const char* id, const char* title, const char* summary, const char* source, const Table& table, int bits,
                                                           int mantissa, int bias, std::uint32_t block, OwnScale ownScale,
                                                           const BlockCodec* blocks = nullptr) {
    return {.id = id, .title = title, .summary = summary,
            .kind = FormatKind::Float, .encoder = Encoder::RoundFloat, .bits = bits, .levels = table.levels, .polyLevels = {}, .zeroCode = Table::kNegative, .valueOffset = 0, .shape = {mantissa, bias, true}, .bytes = table.bytes,
            .scaleKinds = kinds(ScaleKind::Block), .defaultScale = ScaleKind::Block, .defaultBlock = block,
            .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
            .scaledBy = GroupStatistic::AbsMax, .computeInput = false, .source = source,
            .ownScale = ownScale, .tiles = true, .sparse = true, .codec = blocks};
}

/// 2^bits levels within -1 and 1, scaled by the absolute maximum of a block.
constexpr FormatTraits codebookRow(const char* id, const char* title, const char* summary, const char* source,
                                   std::span<const float> levels, int bits, int zeroCode, std::span<const std::uint8_t> bytes = {}) {
    return {.id = id, .title = title, .summary = summary,
            .kind = FormatKind::Codebook, .encoder = Encoder::NearestLevel, .bits = bits, .levels = levels, .polyLevels = {}, .zeroCode = zeroCode, .valueOffset = 0, .shape = {}, .bytes = bytes,
            .scaleKinds = kinds(ScaleKind::Axes, ScaleKind::Tensor, ScaleKind::Block), .defaultScale = ScaleKind::Block, .defaultBlock = 64,
            .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
            .scaledBy = GroupStatistic::AbsMax, .computeInput = false, .source = source, .tiles = true, .sparse = true};
}

/// Blocks as ggml stores them; `group` elements a scale.
constexpr FormatTraits blockRow(const char* id, const char* title, const char* summary, int bits, BlockFormat format, std::uint32_t group,
                                std::span<const float> levels, int zeroCode, const char* source) {
    return {.id = id, .title = title, .summary = summary,
            .kind = FormatKind::Superblock, .encoder = Encoder::Superblock, .bits = bits, .levels = levels, .polyLevels = {}, .zeroCode = zeroCode, .valueOffset = 0, .shape = {}, .bytes = {},
            .scaleKinds = kinds(ScaleKind::Block), .defaultScale = ScaleKind::Block, .defaultBlock = group,
            .minBlock = group, .maxBlock = group, .blockMultiple = 1, .padsLastBlock = false,
            .scaledBy = GroupStatistic::None, .computeInput = false, .source = source, .codec = codec(format)};
}

const std::array<FormatTraits, 38> kFormats = {{
    {.id = "nf4", .title = "NF4", .summary = "4-bit NormalFloat: 16 quantiles of a normal distribution, scaled by the absolute maximum of a block.",
     .kind = FormatKind::Codebook, .encoder = Encoder::NearestNf4, .bits = 4, .levels = kNf4, .polyLevels = kNf4Poly, .zeroCode = 7, .valueOffset = 0, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::Block), .defaultScale = ScaleKind::Block, .defaultBlock = 64,
     .minBlock = 2, .maxBlock = 65536, .blockMultiple = 2, .padsLastBlock = true,
     .scaledBy = GroupStatistic::AbsMax, .computeInput = true,
     .source = "eformer quantize_and_pack_nf4; qwix and bitsandbytes by dialect", .sparse = true},
    {.id = "int8", .title = "INT8", .summary = "Symmetric 8-bit integers, -127 to 127, scaled by the absolute maximum.",
     .kind = FormatKind::Integer, .encoder = Encoder::RoundInteger, .bits = 8, .levels = kInt8, .polyLevels = {}, .zeroCode = 127, .valueOffset = -127, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::Axes, ScaleKind::Tensor, ScaleKind::Block), .defaultScale = ScaleKind::Axes, .defaultBlock = 64,
     .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
     .scaledBy = GroupStatistic::AbsMax, .computeInput = true,
     .source = "eformer quantize_int8; AQT, qwix, compressed-tensors, bitsandbytes and MLX by dialect",
     .affine = true, .stochastic = true, .tiles = true, .sparse = true},
    {.id = "binary", .title = "Binary", .summary = "The sign of each value, 0 counting as +1; scaled by the mean magnitude (XNOR-Net) when a scale is asked for.",
     .kind = FormatKind::Sign, .encoder = Encoder::Sign, .bits = 2, .levels = kBinary, .polyLevels = {}, .zeroCode = 1, .valueOffset = 0, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::None, ScaleKind::Tensor, ScaleKind::Axes, ScaleKind::Block), .defaultScale = ScaleKind::None, .defaultBlock = 64,
     .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
     .scaledBy = GroupStatistic::MeanAbs, .computeInput = false,
     .source = "eformer quantization._config; XNOR-Net for the scaled members"},
    {.id = "ternary", .title = "Ternary", .summary = "-1, 0, +1 by a threshold of half a standard deviation; scaled as Ternary Weight Networks or BitNet b1.58 do when asked for.",
     .kind = FormatKind::Sign, .encoder = Encoder::Threshold, .bits = 2, .levels = kTernary, .polyLevels = {}, .zeroCode = 1, .valueOffset = -1, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::None, ScaleKind::Tensor, ScaleKind::Axes, ScaleKind::Block), .defaultScale = ScaleKind::None, .defaultBlock = 64,
     .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
     .scaledBy = GroupStatistic::MeanAbsTwn, .computeInput = false,
     .source = "eformer quantization._config; Ternary Weight Networks; BitNet b1.58", .unscaledBy = GroupStatistic::HalfStd},
    integerRow("int4", "INT4", "Symmetric 4-bit integers, -7 to 7, scaled by the absolute maximum of a block.", 4, kInt4),
    floatRow("fp8_e4m3", "FP8 E4M3", "8-bit floats with 3 mantissa bits, up to 448, saturating; scaled by the absolute maximum.",
             "OCP OFP8 E4M3 (e4m3fn), saturating", kE4m3, 3, 7),
    floatRow("fp8_e5m2", "FP8 E5M2", "8-bit floats with 2 mantissa bits, up to 57344, saturating; scaled by the absolute maximum.",
             "OCP OFP8 E5M2, saturating", kE5m2, 2, 15),
    integerRow("int2", "INT2", "Symmetric 2-bit integers, -1 to 1, scaled by the absolute maximum of a block.", 2, kInt2),
    integerRow("int3", "INT3", "Symmetric 3-bit integers, -3 to 3, scaled by the absolute maximum of a block.", 3, kInt3),
    integerRow("int5", "INT5", "Symmetric 5-bit integers, -15 to 15, scaled by the absolute maximum of a block.", 5, kInt5),
    integerRow("int6", "INT6", "Symmetric 6-bit integers, -31 to 31, scaled by the absolute maximum of a block.", 6, kInt6),
    integerRow("int7", "INT7", "Symmetric 7-bit integers, -63 to 63, scaled by the absolute maximum of a block.", 7, kInt7),
    floatRow("fp8_e4m3fnuz", "FP8 E4M3FNUZ", "8-bit floats with 3 mantissa bits and one zero, up to 240, saturating; scaled by the absolute maximum.",
             "NANOO float8_e4m3fnuz, saturating", kE4m3fnuz, 3, 8),
    floatRow("fp8_e5m2fnuz", "FP8 E5M2FNUZ", "8-bit floats with 2 mantissa bits and one zero, up to 57344, saturating; scaled by the absolute maximum.",
             "NANOO float8_e5m2fnuz, saturating", kE5m2fnuz, 2, 16),
    codebookRow("fp4", "FP4", "bitsandbytes' 4-bit float: 0, 1/192, 1/6, 1/4, 1/3, 1/2, 2/3 and 1 with a sign, scaled by the absolute maximum of a block.",
                "bitsandbytes functional.py and csrc/kernels.cu, FP4", kFp4, 4, 8, kFp4Bits),
    codebookRow("af4", "AF4", "4-bit AbnormalFloat: the code with the least expected absolute error for normal values in blocks of 64.",
                "Yoshida 2023, arXiv 2306.06965, AF4-64", kAf4, 4, 7),
    codebookRow("nf3", "NF3", "3-bit NormalFloat: 8 quantiles of a normal distribution by NF4's construction, scaled by the absolute maximum of a block.",
                "QLoRA, arXiv 2305.14314, with 3 bits", kNf3, 3, 3),
    blockFloatRow("mxfp4", "MXFP4", "4-bit floats of up to 6 in blocks of 32, each scaled by a power of two.",
                  "OCP Microscaling Formats, MXFP4; qwix and ggml by dialect", kE2m1, 4, 1, 1, 32, OwnScale::E8m0, codec(BlockFormat::Mxfp4)),
    blockFloatRow("mxfp8", "MXFP8", "8-bit floats with 3 mantissa bits in blocks of 32, each scaled by a power of two.",
                  "OCP Microscaling Formats, MXFP8 E4M3; qwix by dialect", kE4m3, 8, 3, 7, 32, OwnScale::E8m0),
    blockFloatRow("nvfp4", "NVFP4", "4-bit floats of up to 6 in blocks of 16, scaled by 8-bit floats and one number per tensor.",
                  "compressed-tensors nvfp4-pack-quantized; qwix and ggml by dialect", kE2m1, 4, 1, 1, 16, OwnScale::E4m3, codec(BlockFormat::Nvfp4)),
    // Without a tensor to learn from it has AF4's levels.
    {.id = "codebook", .title = "Codebook", .summary = "2^bits levels learned from each tensor: Lloyd-Max, for the least squared error.",
     .kind = FormatKind::Codebook, .encoder = Encoder::NearestLevel, .bits = 4, .levels = kAf4, .polyLevels = {}, .zeroCode = 7, .valueOffset = 0, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::None, ScaleKind::Axes, ScaleKind::Tensor, ScaleKind::Block), .defaultScale = ScaleKind::Block, .defaultBlock = 64,
     .minBlock = 1, .maxBlock = 65536, .blockMultiple = 1, .padsLastBlock = false,
     .scaledBy = GroupStatistic::AbsMax, .computeInput = false, .source = "Lloyd 1982, Max 1960; k-means in one dimension",
     .bitWidths = "4 2 3 5 6 7 8"},
    {.id = "f32", .title = "F32", .summary = "The values as 32-bit floats.",
     .kind = FormatKind::Identity, .encoder = Encoder::Identity, .bits = 32, .levels = {}, .polyLevels = {}, .zeroCode = -1, .valueOffset = 0, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::None), .defaultScale = ScaleKind::None, .defaultBlock = 0,
     .minBlock = 0, .maxBlock = 0, .blockMultiple = 1, .padsLastBlock = false,
     .scaledBy = GroupStatistic::None, .computeInput = false, .source = "IEEE 754 binary32"},
    {.id = "f16", .title = "F16", .summary = "The values rounded to 16-bit floats, half to even.",
     .kind = FormatKind::Identity, .encoder = Encoder::RoundF16, .bits = 16, .levels = {}, .polyLevels = {}, .zeroCode = -1, .valueOffset = 0, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::None), .defaultScale = ScaleKind::None, .defaultBlock = 0,
     .minBlock = 0, .maxBlock = 0, .blockMultiple = 1, .padsLastBlock = false,
     .scaledBy = GroupStatistic::None, .computeInput = false, .source = "IEEE 754 binary16"},
    {.id = "bf16", .title = "BF16", .summary = "The values rounded to bfloat16, half to even.",
     .kind = FormatKind::Identity, .encoder = Encoder::RoundBf16, .bits = 16, .levels = {}, .polyLevels = {}, .zeroCode = -1, .valueOffset = 0, .shape = {}, .bytes = {},
     .scaleKinds = kinds(ScaleKind::None), .defaultScale = ScaleKind::None, .defaultBlock = 0,
     .minBlock = 0, .maxBlock = 0, .blockMultiple = 1, .padsLastBlock = false,
     .scaledBy = GroupStatistic::None, .computeInput = false, .source = "bfloat16: the upper half of binary32"},
    blockRow("q4_0", "Q4_0", "ggml: 4-bit integers, -8 to 7, and an f16 scale in blocks of 32; the largest magnitude becomes -8.", 4, BlockFormat::Q4_0, 32, kSigned4, 8, "ggml quantize_row_q4_0_ref"),
    blockRow("q4_1", "Q4_1", "ggml: 4-bit integers, an f16 scale and an f16 minimum in blocks of 32.", 4, BlockFormat::Q4_1, 32, kFrom0To15, 0, "ggml quantize_row_q4_1_ref"),
    blockRow("q5_0", "Q5_0", "ggml: 5-bit integers, -16 to 15, and an f16 scale in blocks of 32; the largest magnitude becomes -16.", 5, BlockFormat::Q5_0, 32, kSigned5, 16, "ggml quantize_row_q5_0_ref"),
    blockRow("q5_1", "Q5_1", "ggml: 5-bit integers, an f16 scale and an f16 minimum in blocks of 32.", 5, BlockFormat::Q5_1, 32, kFrom0To31, 0, "ggml quantize_row_q5_1_ref"),
    blockRow("q8_0", "Q8_0", "ggml: 8-bit integers and an f16 scale in blocks of 32; -128 is never chosen.", 8, BlockFormat::Q8_0, 32, kSigned8, 128, "ggml quantize_row_q8_0_ref"),
    blockRow("q2_k", "Q2_K", "ggml: 2-bit integers in blocks of 256, a 4-bit scale and a 4-bit minimum for each 16 under two f16.", 2, BlockFormat::Q2_K, 16, kFrom0To3, 0, "ggml quantize_row_q2_K_ref"),
    blockRow("q3_k", "Q3_K", "ggml: 3-bit integers, -4 to 3, in blocks of 256, a 6-bit scale for each 16 under an f16.", 3, BlockFormat::Q3_K, 16, kSigned3, 4, "ggml quantize_row_q3_K_ref"),
    blockRow("q4_k", "Q4_K", "ggml: 4-bit integers in blocks of 256, a 6-bit scale and a 6-bit minimum for each 32 under two f16.", 4, BlockFormat::Q4_K, 32, kFrom0To15, 0, "ggml quantize_row_q4_K_ref"),
    blockRow("q5_k", "Q5_K", "ggml: 5-bit integers in blocks of 256, a 6-bit scale and a 6-bit minimum for each 32 under two f16.", 5, BlockFormat::Q5_K, 32, kFrom0To31, 0, "ggml quantize_row_q5_K_ref"),
    blockRow("q6_k", "Q6_K", "ggml: 6-bit integers, -32 to 31, in blocks of 256, an 8-bit scale for each 16 under an f16.", 6, BlockFormat::Q6_K, 16, kSigned6, 32, "ggml quantize_row_q6_K_ref"),
    blockRow("iq4_nl", "IQ4_NL", "ggml: 16 values that are finer near 0, none of them 0, and an f16 scale in blocks of 32.", 4, BlockFormat::Iq4Nl, 32, kIq4Levels, 8, "ggml quantize_iq4_nl"),
    blockRow("iq4_xs", "IQ4_XS", "ggml: the values of IQ4_NL in blocks of 256, a 6-bit scale for each 32 under an f16.", 4, BlockFormat::Iq4Xs, 32, kIq4Levels, 8, "ggml quantize_row_iq4_xs_ref"),
    blockRow("tq1_0", "TQ1_0", "ggml: -1, 0, +1 of the largest magnitude, five to a byte, in blocks of 256 with an f16.", 2, BlockFormat::Tq1_0, 256, kTernary, 1, "ggml quantize_row_tq1_0_ref"),
    blockRow("tq2_0", "TQ2_0", "ggml: -1, 0, +1 of the largest magnitude, in two bits, in blocks of 256 with an f16.", 2, BlockFormat::Tq2_0, 256, kTernary, 1, "ggml quantize_row_tq2_0_ref"),
}};
// clang-format on

/// The list, with room for more: rows never move.
struct List {
    std::array<FormatTraits, kFormats.size() + kMostAddedFormats> rows{};
    std::atomic<std::size_t> count = kFormats.size();
    List() { std::copy(kFormats.begin(), kFormats.end(), rows.begin()); }
};
List& list() {
    static List all;
    return all;
}

} // namespace

std::span<const FormatTraits> formats() { return {list().rows.data(), list().count.load(std::memory_order_acquire)}; }

bool addFormat(const FormatTraits& format) {
    List& all = list();
    const std::size_t count = all.count.load(std::memory_order_acquire);
    if (count == all.rows.size() || findFormat(format.id)) return false;
    all.rows[count] = format;
    all.count.store(count + 1, std::memory_order_release);
    return true;
}

FormatTraits codebookFormat() { return codebookRow("", "", "", "", {}, 0, 0); }

bool isAddedFormat(const FormatTraits& format) {
    return &format >= list().rows.data() + kFormats.size() && &format < list().rows.data() + list().rows.size();
}

const FormatTraits* findFormat(std::string_view id) {
    for (const auto& format : formats())
        if (id == format.id) return &format;
    return nullptr;
}

std::vector<float> floatTable(const FormatTraits& format) {
    std::vector<float> values(256, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t code = 0; code < format.bytes.size(); ++code) values[format.bytes[code]] = format.levels[code];
    return values;
}

float floatMagnitude(const FloatShape& shape, unsigned bits) { return magnitude(shape, bits); }

std::span<const float> nf4Levels() { return kNf4; }
std::span<const float> nf4PolyLevels() { return kNf4Poly; }

} // namespace qs
