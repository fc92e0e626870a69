// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The functions that one instruction set provides. The scalar set is the reference: it defines the correct result.
//
// Every other set returns the same bits as the scalar set, except for the two results below. This includes codes,
// scales, decoded values, conversions, statistics and counts. It also includes the sums per group: groupSse, groupSsw
// and groupAbsMax. These two may differ:
// - Moments: by at most 1e-9 of the sum of the magnitudes of their terms, because the order of summation differs.
// - ErrorSums: by at most 5e-7 of the sum of the magnitudes of their terms; 1e-8 is typical. The scalar set adds in
//   f64. The other sets may round to f32 up to 8 times in a row. They count a square below 2^-149 as 0, which is at
//   most 1e-20 of the energy of the values.
//
// Order of the sums that decide a scale ("lane-strided"): element i is added in f64 to lane i mod 16. Then the lanes
// are folded 16 -> 8 -> 4 -> 2 -> 1 by lane[j] += lane[j + half]. Every instruction set can reproduce this order
// exactly.
//
// groupSse and groupSsw use the same order. In some groups the products are f32: they are added in f32 lanes over 128
// elements of the group, and then in f64. This holds if all of these are true; otherwise the products are f64:
// - the encoder has codes, and a group has 16 elements or more;
// - the largest magnitude of the group is 0 or 2^-36 to 2^50;
// - |scale| is 0 or 2^-56 to 2^50.

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace qs {

/// A histogram of floats that needs no range in advance. The bin is the sign, the exponent and the top 5 bits of the
/// mantissa. A bin is at most 1/32 of its value wide, and adding histograms is exact. Index = bits >> 18: 0..8191 are
/// the positive values, ascending; 8192..16383 are the negative values by magnitude.
inline constexpr std::size_t kFloatBins = 16384;
inline constexpr int kFloatBinShift = 18;

/// Sums over the finite elements of one run. W is the original value, V the decoded value, E = V - W.
struct ErrorSums {
    double n = 0;
    double se = 0, se2 = 0, sae = 0;  ///< sum E, E^2, |E|
    double sw2 = 0, swv = 0, sv2 = 0; ///< sum W^2, W V, V^2
    float maxAbs = 0;                 ///< max |E|
    /// Elements beyond the outermost level of their side times the scale, by more than 1e-6 relative.
    std::uint64_t clipped = 0;
    std::uint64_t zeros = 0;            ///< elements with V == 0
    std::uint64_t signFlips = 0;        ///< elements with W V < 0
    void merge(const ErrorSums& other); ///< counts and maxAbs stay exact; sums are rounded
};

/// Counts and f64 power sums of a run. All but nan and inf count finite elements only.
struct Moments {
    double n = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0; ///< s1..s4: sums of powers 1 to 4 of x - pivot
    float pivot = 0;                              ///< a value near the data, so that a mean far from 0 loses no digits
    float min = 0, max = 0;                       ///< 0 if n == 0
    std::uint64_t nan = 0, inf = 0, zeros = 0;
    double squares() const; ///< sum of x^2
    void merge(const Moments& other);
};
/// The median of at most 15 finite values taken at equal distances from x; 0 if none of them is finite.
float pivotOf(const float* x, std::size_t n);

/// Sum and count of the magnitudes above a threshold.
struct AboveSum {
    double sum = 0;
    std::uint64_t count = 0;
};

/// One run: `n` consecutive elements in groups of `group` elements. The last group may be shorter.
struct Run {
    const float* x = nullptr;
    std::size_t n = 0;
    std::size_t group = 0; ///< elements per scale, at least 1
    /// Scale parameters chosen by the caller; nullptr: computed for each group from `statistic`.
    const GroupParams* given = nullptr;
    std::size_t givenStride = 0; ///< 0: given[0] for all groups; 1: given[g] for group g
    GroupStatistic statistic = GroupStatistic::AbsMax;
    Encoder encoder = Encoder::NearestNf4;
    float clip = 1;                ///< factor of calib=absmax,c: bound = c * max|x|
    const float* levels = nullptr; ///< the table to decode with: levels or polyLevels of the format
    int levelCount = 0;
    /// nan=skip: statistics use finite values only; NaN becomes zeroCode, Inf the outermost code of its sign.
    bool skipNonFinite = false;
    int zeroCode = 0;
    FloatShape shape; ///< RoundFloat only
    /// NearestLevel only: levelCount - 1 ascending thresholds. The code is the number of thresholds below x / aux.
    const float* boundaries = nullptr;
    /// Flat index of x[0] in its tensor. Random rounding and N:M sparsity count from it.
    std::uint64_t index = 0;
};
/// A run with the encoder, levels, zero code and float shape of a format. The caller fills in the rest.
Run runFor(const FormatTraits& format);

/// The outputs of one pass. A null pointer means "not wanted". Arrays cover the whole run. "Added to" means that the
/// pass adds to the values already there. NaN and Inf get codes and decoded values, but no sum or count includes them.
/// A NaN gets zeroCode, or the code of 0 under the zero point or bias of its group. Encoders without codes do not touch
/// codes and codeCounts.
struct RunOut {
    std::uint8_t* codes = nullptr;       ///< [n], one code per byte
    float* scales = nullptr;             ///< [groups]
    float* zeros = nullptr;              ///< [groups], see offsetOf()
    float* decoded = nullptr;            ///< [n]
    ErrorSums* sums = nullptr;           ///< added to
    std::uint64_t* codeCounts = nullptr; ///< [levelCount], added to
    std::uint32_t* errorBins = nullptr;  ///< [kFloatBins], added to: histogram of E
    /// [kFloatBins], added to: histogram of placeOf(W), which is W / scale for most encoders; 0 if scale is 0
    std::uint32_t* valueBins = nullptr;
    float* groupSse = nullptr;    ///< [groups], sum of E^2
    float* groupSsw = nullptr;    ///< [groups], sum of W^2
    float* groupAbsMax = nullptr; ///< [groups], max |W|
};

/// The function table of one instruction set. All pointers are set.
struct KernelSet {
    const char* id;      ///< "scalar", "avx2" or "avx512": the values of QS_FORCE_ISA
    const char* title;   ///< shown in the status line
    bool (*supported)(); ///< whether this processor can run the set

    // Conversions of n values: exact, or rounded half to even. NaN stays NaN.
    void (*f16ToF32)(const std::uint16_t* in, std::size_t n, float* out);
    void (*bf16ToF32)(const std::uint16_t* in, std::size_t n, float* out);
    void (*f32ToF16)(const float* in, std::size_t n, std::uint16_t* out);
    void (*f32ToBf16)(const float* in, std::size_t n, std::uint16_t* out);

    // Statistics of n values. `finiteOnly`: NaN and Inf are left out. `count` gets the number of values used; may be
    // null.
    /// Max |x|; NaN if x has a NaN and finiteOnly is false
    float (*absMax)(const float* x, std::size_t n, bool finiteOnly);
    double (*sumAbs)(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count);
    /// Sum and number of the finite |x| above the threshold.
    AboveSum (*sumAbsAbove)(const float* x, std::size_t n, float threshold);
    double (*sum)(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count);
    double (*sumSquaredDeviation)(const float* x, std::size_t n, float mean,
                                  bool finiteOnly); ///< sum of (x - mean)^2; each square is an f32
    Moments (*moments)(const float* x, std::size_t n);
    /// [kFloatBins], added to; finite values only
    void (*floatBins)(const float* x, std::size_t n, std::uint32_t* bins);
    /// into[i] = max(into[i], |x[i]|) if x[i] is finite
    void (*columnAbsMax)(const float* x, std::size_t n, float* into);

    /// Quantizes a run and measures the error in one pass over x. Works for every format and group size.
    void (*quantize)(const Run& run, const RunOut& out);
    /// decoded[i] = levels[codes[i]] * scale of its group. `scales` is [groups].
    void (*dequantize)(const std::uint8_t* codes, std::size_t n, std::size_t group, const float* scales,
                       const float* levels, int levelCount, float* out);

    // Direct conversion to the layout that eformer stores, without one byte per code in between. n and block are even.
    // The values are finite.
    /// nf4, two codes per byte, high nibble first; `absmax` is [blocks]. `sums` may be null. Only n, se2, sw2 and
    /// maxAbs are added to it; se2 and sw2 are within 1e-6 of the exact sums.
    void (*quantizeNf4Packed)(const float* x, std::size_t n, std::size_t block, std::uint8_t* packed, float* absmax,
                              ErrorSums* sums);
    void (*dequantizeNf4Packed)(const std::uint8_t* packed, std::size_t n, std::size_t block, const float* absmax,
                                const float* levels, float* out);
    // Direct conversion to stored int8 and ternary, of n consecutive values. A group has `group` elements and one
    // scale; the last group may be shorter. The values are finite.
    void (*quantizeInt8Stored)(const float* x, std::size_t n, std::size_t group, std::int8_t* q, float* scales);
    /// Scales and thresholds as in TWN (see paramsFromTwn). Stores q + 1 in two bits, four values per byte, first value
    /// in the lowest bits. Every group starts on a new byte.
    void (*quantizeTernaryPacked)(const float* x, std::size_t n, std::size_t group, std::uint8_t* packed,
                                  float* scales);
};

/// All kernel sets in this build, scalar first, fastest last.
std::span<const KernelSet* const> kernelSets();
/// The reference set.
const KernelSet& scalarKernels();
/// The kernel set in use: the fastest one that this processor supports, or the one that QS_FORCE_ISA names. The
/// variable is read once. If its name is unknown or unsupported, the fastest set is used and forcedIsaProblem() gives
/// the reason.
const KernelSet& bestKernels();
const char* forcedIsaProblem(); ///< nullptr if there is no problem

/// Scale and encoder parameter of one group of n values, by run.statistic, run.encoder and run.clip.
GroupParams groupParams(const KernelSet& kernels, const Run& run, const float* x, std::size_t n);
/// The same from an absolute maximum that is already known, e.g. of a whole tensor or a column. `range` is the
/// outermost level: integers and small floats use scale = bound / range.
GroupParams paramsFromAbsMax(Encoder encoder, float absMax, float clip, float range);
GroupParams paramsFromAbsMax(const Run& run, float absMax);
// Parameters from statistics of a whole tensor. The caller adds up the sums and counts of KernelSet's functions.
GroupParams paramsFromMeanAbs(Encoder encoder, double sumAbs, std::uint64_t count);
/// 0.7 * mean |x| (Ternary Weight Networks, Li et al. 2016); pass it to sumAbsAbove()
float twnThreshold(double sumAbs, std::uint64_t count);
/// scale = mean of the |x| above the threshold; aux = threshold.
GroupParams paramsFromTwn(float threshold, const AboveSum& above);
float meanForStd(double sum, std::uint64_t count); ///< the mean; pass it to sumSquaredDeviation()
/// scale = 1; aux = half of the population standard deviation.
GroupParams paramsFromHalfStd(double sumSquaredDeviation, std::uint64_t count);

/// The zero point of RoundAffine, the bias of RoundBiased; 0 for every other encoder.
float offsetOf(Encoder encoder, const GroupParams& params);
/// A value in units of the levels, so that it can be compared with them: W / scale, plus the zero point or minus the
/// bias.
float placeOf(Encoder encoder, const GroupParams& params, float value);
/// The decoded values of the outermost levels, widened by 1e-6. A value outside counts as clipped. Infinite if the
/// encoder has no levels.
struct ValueLimits {
    float low = 0, high = 0;
};
ValueLimits limitsOf(const Run& run, const GroupParams& params);

} // namespace qs
