// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The block formats of ggml, integers with zero points, and the figures of decoded values, as one instruction set has them.
// The same text is compiled for every set, always without fused operations and without sums across lanes, so that all
// sets give the same bits.
//
// Arithmetic: ggml-quants.c, quantize_row_*_ref and dequantize_row_*, in f32. Bytes and values equal ggml's, except that
// a value that ggml leaves undefined (a scale whose reciprocal overflows, sub-blocks under a scale of 0) gets a code
// within the format here.

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
inline constexpr std::size_t kBlockFormats = std::size_t(BlockFormat::Count);

/// Values that a codec decoded, beside the originals. A NaN original is left out of everything.
struct BlockValues {
    const float* x = nullptr;
    const float* decoded = nullptr;
    const std::uint8_t* codes = nullptr; ///< may be null: then nothing counts as clipped
    std::size_t n = 0;
    std::size_t group = 0;         ///< elements per scale, a multiple of 16 that divides n
    const float* scales = nullptr; ///< one per group
    const float* levels = nullptr;
    int levelCount = 0;
};

struct BlockSet {
    const char* id; ///< of the kernel set that it goes with
    std::array<BlockCodec, kBlockFormats> codecs;
    /// Adds to sums and codeCounts, and writes groupSse, groupSsw and groupAbsMax. `errors` (n) becomes E and `places` (n), which may be
    /// null, where a value lies among the levels; both are NaN where the original is not finite.
    void (*measure)(const BlockValues& values, const RunOut& out, float* errors, float* places);
    /// Widens [low, high] to the values; NaN are left out.
    void (*range)(const float* x, std::size_t n, float& low, float& high);
    /// Encoder::RoundAffine over the consecutive integers from `low` to `high`, of magnitudes below 2^22, for one group. x is finite,
    /// params.scale positive, params.aux (the zero point) finite.
    void (*shiftedCodes)(const float* x, std::size_t n, const GroupParams& params, float low, float high,
                         std::uint8_t* codes);
    void (*shiftedValues)(const std::uint8_t* codes, std::size_t n, const GroupParams& params, float low, float* out);
    /// Encoder::RoundBiased over the integers from 0 to `high`, for one group; a quotient that is NaN gives 0.
    void (*biasedCodes)(const float* x, std::size_t n, const GroupParams& params, float high, std::uint8_t* codes);
    void (*biasedValues)(const std::uint8_t* codes, std::size_t n, const GroupParams& params, float* out);
};

const BlockSet& scalarBlocks();
const BlockSet& avx2Blocks();
const BlockSet& avx512Blocks();
const BlockSet& blocksOf(const KernelSet& kernels);
const BlockSet& bestBlocks(); ///< of bestKernels()

/// A codec that runs on bestKernels(), for the registry.
extern const std::array<BlockCodec, kBlockFormats> kBlockCodecs;
constexpr const BlockCodec* codec(BlockFormat format) { return &kBlockCodecs[std::size_t(format)]; }

/// The 16 values of IQ4_NL and IQ4_XS, ascending.
inline constexpr std::array<float, 16> kIq4Levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                     1,    13,   25,  38,  53,  69,  89,  113};

} // namespace qs
