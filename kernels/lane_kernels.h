// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The functions that one instruction set provides for products with LaneWeights. A function that does not exist is
// null.

#include "kernels/lane_weights.h"

namespace qs {

/// Up to 4 rows of x times one panel. Writes y[row * kPanel + lane].
struct GemvCall {
    /// The codes of the panel, [step][64].
    const std::uint32_t* words;
    const float* scales; ///< [group][64], or nullptr
    const LaneWeights* weights;
    const std::uint32_t* x;    ///< x stream of row 0: floats, bf16 pairs or byte quads
    std::size_t xRow;          ///< words from one row to the next
    std::size_t xSet;          ///< words from one set of 16 lanes to the next, if each set has its own x
    const std::int32_t* xSums; ///< I8 only: sum of x in each group, [row][group]
    std::size_t rows;          ///< 1, 2 or 4
    float* y;
};
using GemvKernel = void (*)(const GemvCall&);

/// Decodes steps of a panel for a dense product. out is [stream index][width]. The scales are applied, except for I8.
struct DecodeCall {
    const std::uint32_t* words; ///< of the first step, at the first lane wanted
    /// One scale per group: the scales of the first step's group, at the same lane as `words`. Scales that change with
    /// k: those of the set of the first vector. nullptr: no scales.
    const float* scales;
    const LaneWeights* weights;
    std::size_t firstStep, steps; ///< firstStep counts within the panel and need not start a group
    std::uint32_t* out;
};
using DecodeKernel = void (*)(const DecodeCall&);

/// c[row][width] = (or +=, if `add`) the sum over kk of a[kk][rows] * b[kk][width]. For I8 this is done for each of
/// `groups`. The i32 sums of a group start at init[group][row]; they are converted to f32 and multiplied by
/// scale[group][lane]. More than one group needs kk >= 2.
struct MicroCall {
    /// The rows of x, packed word by word.
    const std::uint32_t* a;
    /// The decoded or stored weights.
    const std::uint32_t* b;
    std::size_t bStep; ///< words from one kk to the next
    std::size_t kk;
    float* c;
    bool add;
    std::size_t groups;       ///< I8 only
    const std::int32_t* init; ///< I8 only
    const float* scale;       ///< I8 only
    std::size_t scaleRow;     ///< I8 only: floats from one group to the next
    std::size_t cRow;         ///< floats from one row of c to the next; 0: the rows follow each other
};
using MicroKernel = void (*)(const MicroCall&);

/// The functions for one kind of products. Arrays are indexed by LaneCodes.
struct LaneKernels {
    GemvKernel gemv[kLaneCodes];
    GemvKernel gemvSets[kLaneCodes]; ///< each set of 16 lanes has its own x
    /// Like gemv, but x consists of tables for four bits of codes, so the loop only adds. For codes of 1 and 2 bits.
    GemvKernel gemvLookups[kLaneCodes];
    /// Makes these tables from n values of x: 16 floats for every four bits of codes.
    void (*lookupTables[kLaneCodes])(const float* x, std::size_t n, const float* levels, std::uint32_t* tables);
    DecodeKernel decode[kLaneCodes];
    /// The micro kernels can read the stored words without `decode`, if there are no scales to apply
    bool multiplied[kLaneCodes];
    const MicroKernel* micro;          ///< one function per number of rows: [rows - 1]
    const MicroKernel* microInt8;      ///< the same for Int8 codes
    std::size_t microRows, microWidth; ///< rows of the largest micro kernel; lanes of a dense panel
    /// I8: -128 if the kernels multiply Int8 codes as unsigned bytes (code + 128), and the weights must be stored so;
    /// else 0.
    int int8Bias;
    std::int32_t (*sumBytes)(const std::int8_t* bytes, std::size_t n); ///< I8: the sum of n bytes
    /// y = lanes * scale + addend. addend may be null; n is a multiple of 16.
    void (*finish)(const float* lanes, std::size_t n, float scale, const float* addend, float* y);
    /// out = x * scale, as n floats or as n bf16 pairs (x[i], x[i + halfStride]). scale may be null.
    void (*fold)(const float* x, const float* scale, std::size_t n, std::size_t halfStride, std::uint32_t* out);
    /// Fixed only: out = x * scale, rounded to 16-bit integers with one common factor for every kFixedSteps words.
    /// These f32 factors follow the stream in `out`.
    void (*foldFixed[kLaneCodes])(const float* x, const float* scale, const LaneWeights& weights, std::uint32_t* out);
};

} // namespace qs
