// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// THE list of number formats. A format is a set of levels, a way to get a group's scale from its values, and a way to
// choose a level for a value. Everything else (spec editor, tables, reports, tests) loops over formats().
//
// A code is an index 0..levels-1 into `levels`; the decoded value is levels[code] * scale, one f32 multiplication.
// Arithmetic is f32, round half to even, no fused multiply-add, denormals kept.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace qs {

/// Superblock formats have no scale per group but bytes of their own: see FormatTraits::codec.
enum class FormatKind { Identity, Codebook, Integer, Float, Sign, Superblock };
enum class ScaleKind : std::uint8_t { None = 1, Tensor = 2, Axes = 4, Block = 8 };

/// What is measured over one scale group before its values can be encoded.
enum class GroupStatistic {
    None,       ///< unscaled binary; identity
    AbsMax,     ///< max |x|
    MeanAbs,    ///< mean |x|, lane-strided sum (see kernel_set.h), rounded to f32
    MeanAbsTwn, ///< delta = 0.7 mean |x|; then mean of the |x| > delta (0 when none)
    HalfStd,    ///< 0.5 * population std, f32 mean, f32 squared deviations: eformer's ternary threshold
};

/// What a group's statistics become.
struct GroupParams {
    float scale = 1; ///< stored; the decoder multiplies levels by it
    /// What the encoder needs: nf4 absmax + FLT_MIN; integers the scale; ternary the threshold; RoundAffine the zero
    /// point; RoundReciprocal 1 / scale; RoundBiased the scale before it was rounded to its type.
    float aux = 1;
    float bias = 0; ///< RoundBiased: what the decoder adds
};

/// What a scale of a format is by the format's own definition: any f32, a power of two in a byte, an 8-bit float.
enum class OwnScale { F32, E8m0, E4m3 };

/// How a value becomes a code. The first three have no codes: the decoded value is x, or x rounded to a small float.
/// RoundInteger: round(x / scale) within the levels; RoundFloat: x / scale clipped to the outermost levels, then rounded
/// to the format's floats, subnormals included; both half to even. RoundTernary is BitNet's absmean rounding.
/// RoundAffine: round(x / scale + zero point) within the levels, decoded as (level - zero point) * scale.
/// RoundBiased: round((x - bias) / aux) within the levels, decoded as level * scale + bias; the scale may be below 0 (MLX).
/// RoundReciprocal: round(x * (1 / scale)) within the levels (AQT). NearestLevel: the nearest of `levels` to x / aux, the
/// lower code on ties. Superblock: the format's codec.
enum class Encoder {
    Identity,
    RoundF16,
    RoundBf16,
    NearestNf4,
    RoundInteger,
    RoundFloat,
    Sign,
    Threshold,
    RoundTernary,
    RoundAffine,
    RoundBiased,
    RoundReciprocal,
    NearestLevel,
    Superblock
};

/// A small float with a sign bit. Magnitude `bits`, with e = bits >> mantissa and m the bits below, is m * step for
/// e = 0, and (2^mantissa + m) * 2^(e - 1) * step above; step = 2^(1 - bias - mantissa).
struct FloatShape {
    int mantissa = 0, bias = 0;
    bool minusZero = false; ///< -0 is a value of its own, below +0
    bool operator==(const FloatShape&) const = default;
};

/// A format whose scales are packed with its codes in blocks of fixed size (ggml). Bytes are as ggml stores them.
struct BlockCodec {
    std::uint32_t elements;                                                 ///< of a block; a row is whole blocks
    std::uint32_t bytes;                                                    ///< of a block
    void (*encode)(const float* x, std::size_t blocks, std::uint8_t* out);  ///< finite values
    void (*decode)(const std::uint8_t* in, std::size_t blocks, float* out); ///< exact
    void (*codes)(const std::uint8_t* in, std::size_t blocks,
                  std::uint8_t* out); ///< an index per element, < levels.size()
    /// Scale by which a level stands for a value, per group of the scale grid; for charts.
    void (*scales)(const std::uint8_t* in, std::size_t blocks, float* out);
};

struct FormatTraits {
    const char* id;      ///< lower case, as in the spec, files and the backend ABI
    const char* title;   ///< "NF4"
    const char* summary; ///< one sentence
    FormatKind kind;
    Encoder encoder;                     ///< of the default dialect
    int bits;                            ///< bits a code takes in the default layout
    std::span<const float> levels;       ///< ascending, -0 before +0; empty for Identity
    std::span<const float> polyLevels;   ///< the levels of decode=poly; empty when there is none
    int zeroCode;                        ///< code of the level 0, or of +1 for binary; -1 for Identity
    int valueOffset;                     ///< integer formats: stored integer = code + valueOffset (int8: -127)
    FloatShape shape;                    ///< float formats
    std::span<const std::uint8_t> bytes; ///< float formats: the bits that are stored for a code
    std::uint8_t scaleKinds;             ///< bit set of ScaleKind that a spec may ask for
    ScaleKind defaultScale;
    std::uint32_t defaultBlock; ///< elements; also what scale=block without block means
    std::uint32_t minBlock, maxBlock, blockMultiple;
    bool padsLastBlock;                               ///< the stored last axis is zero-padded to whole blocks (nf4)
    GroupStatistic scaledBy;                          ///< what the format's own scale is made of; None: it has none
    bool computeInput;                                ///< takes compute=input
    const char* source;                               ///< where the arithmetic is defined
    GroupStatistic unscaledBy = GroupStatistic::None; ///< what is measured of values without a scale
    OwnScale ownScale = OwnScale::F32;
    bool affine = false;               ///< takes sym=no: a zero point per scale
    bool stochastic = false;           ///< takes round=stochastic,SEED
    bool tiles = false;                ///< takes tile=AxN
    bool sparse = false;               ///< takes sparse=N/M
    std::string_view bitWidths = {};   ///< of learned codebooks: values of bits=, the first is the default
    const BlockCodec* codec = nullptr; ///< Superblock formats
};

std::span<const FormatTraits> formats();
const FormatTraits* findFormat(std::string_view id); ///< nullptr when unknown
/// The value of each byte of a float format; NaN for bytes that no level has.
std::vector<float> floatTable(const FormatTraits& format);
/// A magnitude of a small float, exact.
float floatMagnitude(const FloatShape& shape, unsigned bits);

std::span<const float> nf4Levels();
/// eformer's polynomial of degree 5 evaluated by Horner in f32 at codes 0..15.
std::span<const float> nf4PolyLevels();

} // namespace qs
