// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The functions of one instruction set for the block formats of ggml, for integers with zero points or biases, and for
// measuring decoded values.
//
// One source text is compiled for every instruction set. It uses no fused multiply-add and no sums across lanes, so all
// sets give the same bits.
//
// Arithmetic: quantize_row_*_ref and dequantize_row_* of ggml-quants.c, in f32. Bytes and values equal those of ggml,
// with one exception: where ggml's value is undefined, this code still chooses a valid code. That happens if the
// reciprocal of a scale overflows, or for sub-blocks under a scale of 0.

#include "kernels/kernel_set.h"

#include <array>

namespace qs {

enum class BlockFormat {
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    Iq4Nl,
    Iq4Xs,
    Tq1_0,
    Tq2_0,
    Mxfp4,
    Nvfp4,
    Count
};
/// The number of block formats.
inline constexpr std::size_t kBlockFormats = std::size_t(BlockFormat::Count);

/// Values decoded by a codec, and the originals. A NaN original is left out of all sums and counts.
struct BlockValues {
    const float* x = nullptr;
    const float* decoded = nullptr;
    const std::uint8_t* codes = nullptr; ///< may be null: then no value counts as clipped
    std::size_t n = 0;
    std::size_t group = 0;         ///< elements per scale: a multiple of 16 that divides n
    const float* scales = nullptr; ///< [n / group]
    const float* levels = nullptr;
    int levelCount = 0;
};

/// The function table of one instruction set.
struct BlockSet {
    const char* id; ///< id of the kernel set that it belongs to
    std::array<BlockCodec, kBlockFormats> codecs;
    /// Measures decoded values. Adds to sums and codeCounts; writes groupSse, groupSsw and groupAbsMax. errors[n] gets
    /// decoded - x. places[n], which may be null, gets each value in units of the levels. Both are NaN where the
    /// original is not finite.
    void (*measure)(const BlockValues& values, const RunOut& out, float* errors, float* places);
    /// Widens [low, high] to contain the values. NaN are left out.
    void (*range)(const float* x, std::size_t n, float& low, float& high);
    /// The codes of one group under Encoder::RoundAffine. The levels are the consecutive integers from `low` to `high`,
    /// with magnitudes below 2^22. x is finite, params.scale is positive, and params.aux (the zero point) is finite.
    void (*shiftedCodes)(const float* x, std::size_t n, const GroupParams& params, float low, float high,
                         std::uint8_t* codes);
    /// The decoded values of such codes: (code + low - zero point) * scale.
    void (*shiftedValues)(const std::uint8_t* codes, std::size_t n, const GroupParams& params, float low, float* out);
    /// The codes of one group under Encoder::RoundBiased, with the integers from 0 to `high` as levels. A NaN quotient
    /// gives code 0.
    void (*biasedCodes)(const float* x, std::size_t n, const GroupParams& params, float high, std::uint8_t* codes);
    /// The decoded values of such codes: code * scale + bias.
    void (*biasedValues)(const std::uint8_t* codes, std::size_t n, const GroupParams& params, float* out);
};

const BlockSet& scalarBlocks();
const BlockSet& avx2Blocks();
const BlockSet& avx512Blocks();
/// The block set that belongs to a kernel set; the scalar one if there is none.
const BlockSet& blocksOf(const KernelSet& kernels);
const BlockSet& bestBlocks(); ///< the one of bestKernels()

/// The codecs of the format registry. Each function calls the block set of bestKernels().
extern const std::array<BlockCodec, kBlockFormats> kBlockCodecs;
constexpr const BlockCodec* codec(BlockFormat format) { return &kBlockCodecs[std::size_t(format)]; }

/// The 16 levels of IQ4_NL and IQ4_XS, ascending. Source: kvalues_iq4nl in ggml.
inline constexpr std::array<float, 16> kIq4Levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                     1,    13,   25,  38,  53,  69,  89,  113};

} // namespace qs
