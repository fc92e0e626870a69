// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an instruction set provides. The scalar set is the definition of correct; every other set gives the same bits
// for codes, scales, decoded values, conversions, statistics, extrema, counts and the figures of a group. Moments agree
// within 1e-9 of the sum of the magnitudes of their terms (their order of summation differs). The ErrorSums of the
// scalar set are f64 sums; those of the others are within 5e-7 of them, again relative to the sum of the magnitudes (at
// most 8 roundings to f32 in a row), and typically within 1e-8. Squares below 2^-149 count as 0 there, which is at most
// 1e-20 of the energy of the values.
//
// Order of the sums that decide a scale ("lane-strided"): element i is added in f64 to lane i mod 16; the lanes are
// then folded 16 -> 8 -> 4 -> 2 -> 1 by lane[j] += lane[j + half]. Any instruction set can reproduce it exactly.
// The figures of a group (groupSse, groupSsw) are summed so too, but in runs with groups of 16 and more and with codes
// the products are f32 and are added in f32 lanes over 128 elements of the group, then in f64, where the largest
// magnitude is 0 or 2^-36 to 2^50 and |scale| is 0 or 2^-56 to 2^50; elsewhere the products are f64.

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace qs {

/// Histogram over floats without knowing their range: bin = sign, exponent and the top 5 bits of the mantissa of the
/// value, so that a bin is at most 1/32 wide relative to its value and merging is exact.
/// Index = bits >> 18: 0..8191 are positive values ascending, 8192..16383 negative ones by magnitude.
inline constexpr std::size_t kFloatBins = 16384;
inline constexpr int kFloatBinShift = 18;

/// Sums over the finite elements of one run; W original, V reconstruction, E = V - W.
struct ErrorSums {
    double n = 0;
    double se = 0, se2 = 0, sae = 0;  ///< sum E, E^2, |E|
    double sw2 = 0, swv = 0, sv2 = 0; ///< sum W^2, W V, V^2
    float maxAbs = 0;                 ///< max |E|
    std::uint64_t clipped = 0;   ///< W beyond the outermost level of its side times scale (by more than 1e-6 relative)
    std::uint64_t zeros = 0;     ///< V == 0
    std::uint64_t signFlips = 0; ///< W V < 0
    void merge(const ErrorSums& other); ///< exact for counts and extrema
};

/// Of finite elements, f64 sums.
struct Moments {
    double n = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0; ///< sums of powers of x - pivot
    float pivot = 0;                              ///< among the values, so that a mean far from 0 costs no digits
    float min = 0, max = 0;                       ///< 0 when n == 0
    std::uint64_t nan = 0, inf = 0, zeros = 0;
    double squares() const; ///< sum x^2
    void merge(const Moments& other);
};
/// The median of a few finite values that are spread over x; 0 where none of them is finite.
float pivotOf(const float* x, std::size_t n);

struct AboveSum {
    double sum = 0;
    std::uint64_t count = 0;
};

/// A run: `n` consecutive elements cut into groups of `group` elements, the last possibly short.
struct Run {
    const float* x = nullptr;
    std::size_t n = 0;
    std::size_t group = 0;              ///< elements per scale; >= 1
    const GroupParams* given = nullptr; ///< nullptr: computed per group from `statistic`; else where the scales are
    std::size_t givenStride = 0;        ///< 0: given[0] for all groups; 1: given[g]
    GroupStatistic statistic = GroupStatistic::AbsMax;
    Encoder encoder = Encoder::NearestNf4;
    float clip = 1;                ///< calib=absmax,c: bound = c * max|x|
    const float* levels = nullptr; ///< table to decode with (levels or polyLevels)
    int levelCount = 0;
    bool skipNonFinite = false; ///< nan=skip: statistics over finite values, NaN -> zeroCode, Inf -> outermost
    int zeroCode = 0;
    FloatShape shape; ///< of RoundFloat
    /// NearestLevel: levelCount - 1 ascending thresholds; the code is the number of them that are below x / aux.
    const float* boundaries = nullptr;
    std::uint64_t index = 0; ///< flat index of x[0] in its tensor: what random rounding and N:M sparsity count from
};
/// Encoder and levels of a format; the rest is the caller's.
Run runFor(const FormatTraits& format);

/// Outputs of one pass; a null pointer is not wanted. Arrays are for the whole run. NaN and Inf get codes and decoded
/// values but are left out of everything that counts or sums. A NaN always gets zeroCode. The encoders without codes
/// leave codes and codeCounts alone.
struct RunOut {
    std::uint8_t* codes = nullptr;       ///< n, one code a byte
    float* scales = nullptr;             ///< one per group
    float* zeros = nullptr;              ///< one per group: see offsetOf()
    float* decoded = nullptr;            ///< n
    ErrorSums* sums = nullptr;           ///< added to
    std::uint64_t* codeCounts = nullptr; ///< levelCount, added to
    std::uint32_t* errorBins = nullptr;  ///< kFloatBins, added to: histogram of E
    std::uint32_t* valueBins = nullptr;  ///< kFloatBins, added to: histogram of W / scale (scale 0 counts as value 0)
    float* groupSse = nullptr;           ///< one per group: sum E^2
    float* groupSsw = nullptr;           ///< one per group: sum W^2
    float* groupAbsMax = nullptr;        ///< one per group: max |W|
};

struct KernelSet {
    const char* id;    ///< "scalar" "avx2" "avx512": what QS_FORCE_ISA takes
    const char* title; ///< for the status line
    bool (*supported)();

    // Conversions, exact or round half to even; NaN stays NaN.
    void (*f16ToF32)(const std::uint16_t* in, std::size_t n, float* out);
    void (*bf16ToF32)(const std::uint16_t* in, std::size_t n, float* out);
    void (*f32ToF16)(const float* in, std::size_t n, std::uint16_t* out);
    void (*f32ToBf16)(const float* in, std::size_t n, std::uint16_t* out);

    // Statistics; `finiteOnly` leaves NaN and Inf out.
    float (*absMax)(const float* x, std::size_t n, bool finiteOnly); ///< NaN anywhere: NaN, unless finiteOnly
    double (*sumAbs)(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count);
    AboveSum (*sumAbsAbove)(const float* x, std::size_t n, float threshold); ///< finite |x| > threshold
    double (*sum)(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count);
    double (*sumSquaredDeviation)(const float* x, std::size_t n, float mean,
                                  bool finiteOnly); ///< each (x-mean)^2 an f32
    Moments (*moments)(const float* x, std::size_t n);
    void (*floatBins)(const float* x, std::size_t n, std::uint32_t* bins); ///< finite values, added to
    void (*columnAbsMax)(const float* x, std::size_t n, float* into); ///< into[i] = max(into[i], |x[i]|) of finite x

    /// Quantizes a run and measures it in one pass over x. Every format, every granularity.
    void (*quantize)(const Run& run, const RunOut& out);
    /// decoded[i] = levels[codes[i]] * scale of its group.
    void (*dequantize)(const std::uint8_t* codes, std::size_t n, std::size_t group, const float* scales,
                       const float* levels, int levelCount, float* out);

    // The seeds' storage, without the unpacked codes in between. n and block even; the values are finite.
    /// High nibble first. `sums` may be null; only n, se2, sw2 and maxAbs are added to it, se2 and sw2 within 1e-6.
    void (*quantizeNf4Packed)(const float* x, std::size_t n, std::size_t block, std::uint8_t* packed, float* absmax,
                              ErrorSums* sums);
    void (*dequantizeNf4Packed)(const std::uint8_t* packed, std::size_t n, std::size_t block, const float* absmax,
                                const float* levels, float* out);
    // int8 and ternary as they are stored, row by row: `group` elements a scale, the last group possibly short; the
    // values are finite.
    void (*quantizeInt8Stored)(const float* x, std::size_t n, std::size_t group, std::int8_t* q, float* scales);
    /// TWN scales; q + 1 in two bits, four values a byte, the first lowest; every group starts a byte.
    void (*quantizeTernaryPacked)(const float* x, std::size_t n, std::size_t group, std::uint8_t* packed,
                                  float* scales);
};

/// All sets compiled in, scalar first, fastest last.
std::span<const KernelSet* const> kernelSets();
const KernelSet& scalarKernels();
/// The fastest supported set, or the one QS_FORCE_ISA names (read once; an unknown or unsupported name falls back to
/// the fastest and forcedIsaProblem() says so).
const KernelSet& bestKernels();
const char* forcedIsaProblem(); ///< nullptr when none

/// Scale and encoder input of one group from its statistics, as `run` asks (statistic, encoder, clip).
GroupParams groupParams(const KernelSet& kernels, const Run& run, const float* x, std::size_t n);
/// The same from an absolute maximum that is known already (whole-tensor and strided scales). `range` is the outermost
/// level, on which the scale of integers and small floats puts the bound.
GroupParams paramsFromAbsMax(Encoder encoder, float absMax, float clip, float range);
GroupParams paramsFromAbsMax(const Run& run, float absMax);
// For statistics gathered range by range over a whole tensor: sums and counts of KernelSet's functions, added up.
GroupParams paramsFromMeanAbs(Encoder encoder, double sumAbs, std::uint64_t count);
float twnThreshold(double sumAbs, std::uint64_t count); ///< then sumAbsAbove() with it
GroupParams paramsFromTwn(float threshold, const AboveSum& above);
float meanForStd(double sum, std::uint64_t count); ///< then sumSquaredDeviation() around it
GroupParams paramsFromHalfStd(double sumSquaredDeviation, std::uint64_t count);

/// The zero point of RoundAffine, the bias of RoundBiased, else 0.
float offsetOf(Encoder encoder, const GroupParams& params);
/// Where a value lies among the levels.
float placeOf(Encoder encoder, const GroupParams& params, float value);
/// The values of the outermost levels, 1e-6 wider: what is beyond counts as clipped.
struct ValueLimits {
    float low = 0, high = 0;
};
ValueLimits limitsOf(const Run& run, const GroupParams& params);

} // namespace qs
