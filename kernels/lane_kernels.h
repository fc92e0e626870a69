// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an instruction set provides for products with LaneWeights. Null where it has none.

#include "kernels/lane_weights.h"

namespace qs {

/// Up to 4 rows of x times a panel. y[row * kPanel + lane] is set.
struct GemvCall {
    const std::uint32_t* words;
    const float* scales; ///< [group][64], or nullptr
    const LaneWeights* weights;
    const std::uint32_t* x;    ///< stream of row 0: floats, bf16 pairs or byte quads
    std::size_t xRow;          ///< words from row to row
    std::size_t xSet;          ///< and, where every set of 16 lanes has an x of its own, from set to set
    const std::int32_t* xSums; ///< I8: sum of x in each group, [row][group]
    std::size_t rows;          ///< 1, 2 or 4
    float* y;
};
using GemvKernel = void (*)(const GemvCall&);

/// Decodes steps of a panel for a dense product: out[stream index][width], scales applied unless products are I8.
struct DecodeCall {
    const std::uint32_t* words; ///< of the first step, at the first lane wanted
    const float* scales; ///< per group: at the same lane, of the first step's group; per k: of the first vector's set
    const LaneWeights* weights;
    std::size_t firstStep, steps; ///< firstStep within the panel; per group: starts anywhere in a group
    std::uint32_t* out;
};
using DecodeKernel = void (*)(const DecodeCall&);

/// c[row][width] (+)= sum over kk of a[kk][rows] * b[kk][width]. I8: once for each of `groups`, whose i32 sums start at
/// init[group][row] and become f32, times scale[group][lane]; several groups only where kk is at least 2.
struct MicroCall {
    const std::uint32_t* a;
    const std::uint32_t* b;
    std::size_t bStep; ///< words from kk to kk
    std::size_t kk;
    float* c;
    bool add;
    std::size_t groups;       ///< I8
    const std::int32_t* init; ///< I8
    const float* scale;       ///< I8
    std::size_t scaleRow;     ///< I8: from group to group
};
using MicroKernel = void (*)(const MicroCall&);

struct LaneKernels {
    GemvKernel gemv[kLaneCodes];
    GemvKernel gemvSets[kLaneCodes]; ///< sets of 16 lanes have their own x
    /// The same as gemv, x being tables for four bits of codes each: additions only. For codes of 1 and 2 bits.
    GemvKernel gemvLookups[kLaneCodes];
    void (*lookupTables[kLaneCodes])(const float* x, std::size_t n, const float* levels, std::uint32_t* tables);
    DecodeKernel decode[kLaneCodes];
    bool multiplied[kLaneCodes];  ///< stored words are what decode would make, but for scales
    const MicroKernel* micro;     ///< [rows - 1]
    const MicroKernel* microInt8; ///< of Int8 codes
    std::size_t microRows, microWidth;
    /// I8: -128 where the kernels multiply Int8 codes as unsigned bytes, 128 too large; they want them stored so.
    int int8Bias;
    std::int32_t (*sumBytes)(const std::int8_t* bytes, std::size_t n); ///< I8
    /// y = lanes * scale + addend, which may be null; n a multiple of 16.
    void (*finish)(const float* lanes, std::size_t n, float scale, const float* addend, float* y);
    /// out = x * scale as floats, or as bf16 pairs of (lo, hi); scale may be null.
    void (*fold)(const float* x, const float* scale, std::size_t n, std::size_t halfStride, std::uint32_t* out);
    /// Fixed: x * scale as integers, and behind the stream what they are to be multiplied by, for each kFixedSteps.
    void (*foldFixed[kLaneCodes])(const float* x, const float* scale, const LaneWeights& weights, std::uint32_t* out);
};

} // namespace qs
