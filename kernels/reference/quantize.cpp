// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/reference/lanes.h"
#include "kernels/reference/reference.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qs::reference {
namespace {

/// The nearest level; the lower code on ties. `v` is not NaN.
int nearest(std::span<const float> levels, float v) {
    int best = 0;
    float bestDistance = std::fabs(v - levels[0]);
    for (int code = 1; code < int(levels.size()); ++code) {
        const float distance = std::fabs(v - levels[std::size_t(code)]);
        if (distance < bestDistance) best = code, bestDistance = distance;
    }
    return best;
}

/// v rounded to an integer, half to even, and limited to [low, high]. `v` is not NaN.
int roundWithin(float v, int low, int high) { return int(std::nearbyint(std::clamp(v, float(low), float(high)))); }

/// The magnitude bits of the small float nearest to `v` >= 0, half to even.
int nearestMagnitude(const FloatShape& shape, float v) {
    const int lowest = 1 - shape.bias; // exponent of the subnormal numbers and of the smallest normal ones
    const int exponent = v > 0 ? std::max(std::ilogb(v), lowest) : lowest;
    const int units = int(std::nearbyint(std::ldexp(v, shape.mantissa - exponent)));
    // Normal numbers have units of 2^mantissa and more. That extra bit adds one to the exponent field.
    return ((exponent - lowest) << shape.mantissa) + units;
}

float decodeOne(const Run& run, const GroupParams& params, float x, int code) {
    switch (run.encoder) {
    case Encoder::Identity: return x;
    case Encoder::RoundF16: return qs::f16ToF32(qs::f32ToF16(x));
    case Encoder::RoundBf16: return qs::bf16ToF32(qs::f32ToBf16(x));
    case Encoder::RoundAffine: return (run.levels[code] - params.aux) * params.scale;
    case Encoder::RoundBiased: return run.levels[code] * params.scale + params.bias;
    default: return run.levels[code] * params.scale;
    }
}

/// The code of the value 0. With a zero point or a bias it differs from group to group.
int zeroCodeOf(const Run& run, const GroupParams& params) {
    const bool biased = run.encoder == Encoder::RoundBiased;
    const float place = biased ? -params.bias / params.aux : params.aux;
    if ((!biased && run.encoder != Encoder::RoundAffine) || std::isnan(place)) return run.zeroCode;
    return roundWithin(place - run.levels[0], 0, run.levelCount - 1);
}

bool hasCodesOf(Encoder encoder) {
    return encoder != Encoder::Identity && encoder != Encoder::RoundF16 && encoder != Encoder::RoundBf16;
}

} // namespace

int encode(const Run& run, const GroupParams& params, float x) {
    if (std::isnan(x)) return zeroCodeOf(run, params);
    const int outermost = run.levelCount - 1;
    if (run.skipNonFinite && std::isinf(x)) return x > 0 ? outermost : 0;
    switch (run.encoder) {
    case Encoder::NearestNf4: {
        const float v = x / params.aux;
        // Limit v first. Far outside, all levels would have the same distance in f32.
        return std::isnan(v) ? run.zeroCode : nearest(nf4Levels(), std::clamp(v, -1.0f, 1.0f));
    }
    case Encoder::RoundInteger:
    case Encoder::RoundTernary: {
        const float v = x / params.aux;
        return std::isnan(v) ? run.zeroCode : run.zeroCode + roundWithin(v, -run.zeroCode, outermost - run.zeroCode);
    }
    case Encoder::RoundFloat: {
        const float v = x / params.aux;
        if (std::isnan(v)) return run.zeroCode;
        const int bits = nearestMagnitude(run.shape, std::min(std::fabs(v), run.levels[outermost]));
        if (!std::signbit(v)) return run.zeroCode + bits;
        return run.zeroCode - bits - (run.shape.minusZero ? 1 : 0);
    }
    case Encoder::NearestLevel: {
        const float v = x / params.aux;
        if (std::isnan(v)) return run.zeroCode;
        return int(std::lower_bound(run.boundaries, run.boundaries + outermost, v) - run.boundaries);
    }
    case Encoder::RoundAffine: {
        const float v = x / params.scale + params.aux;
        if (std::isnan(v)) return zeroCodeOf(run, params);
        return roundWithin(v, int(run.levels[0]), int(run.levels[outermost])) - int(run.levels[0]);
    }
    case Encoder::RoundBiased: {
        const float v = (x - params.bias) / params.aux;
        if (std::isnan(v)) return run.zeroCode; // the scale is 0: all values equal the bias
        return roundWithin(v - run.levels[0], 0, outermost);
    }
    case Encoder::RoundReciprocal: {
        const float v = x * params.aux;
        if (std::isnan(v)) return run.zeroCode;
        if (run.levels[0] == std::floor(run.levels[0]))
            return run.zeroCode + roundWithin(v, -run.zeroCode, outermost - run.zeroCode);
        // The levels are halves without a zero: floor(v) + 0.5, limited to the levels.
        return run.zeroCode + int(std::floor(std::clamp(v, run.levels[0], run.levels[outermost])));
    }
    case Encoder::Sign: return x < 0 ? 0 : 1;
    case Encoder::Threshold: return x > params.aux ? 2 : x < -params.aux ? 0 : 1;
    default: return -1;
    }
}

void quantizeGroup(const Run& run, const RunOut& out, const GroupParams& params, std::size_t begin, std::size_t n,
                   std::size_t group) {
    ErrorSums sums;
    Lanes se, se2, sae, sw2, swv, sv2;
    StretchLanes groupSe2, groupSw2;
    float groupMax = 0;
    const ValueLimits limits = limitsOf(run, params);
    const bool hasCodes = hasCodesOf(run.encoder);
    for (std::size_t i = 0; i < n; ++i) {
        const float w = run.x[begin + i];
        const int code = encode(run, params, w);
        const float v = decodeOne(run, params, w, code);
        if (out.codes && hasCodes) out.codes[begin + i] = std::uint8_t(code);
        if (out.decoded) out.decoded[begin + i] = v;
        if (i % kStretch == 0) groupSe2.flush(), groupSw2.flush();
        if (!std::isfinite(w)) continue;
        const float e = v - w;
        const double wd = double(w), vd = double(v), ed = double(e);
        se.add(i, ed);
        se2.add(i, ed * ed);
        sae.add(i, std::fabs(ed));
        sw2.add(i, wd * wd);
        swv.add(i, wd * vd);
        sv2.add(i, vd * vd);
        groupSe2.add(i, e * e);
        groupSw2.add(i, w * w);
        sums.n += 1;
        sums.maxAbs = std::max(sums.maxAbs, std::fabs(e));
        sums.clipped += w > limits.high || w < limits.low;
        sums.zeros += v == 0;
        sums.signFlips += (w < 0 && v > 0) || (w > 0 && v < 0);
        groupMax = std::max(groupMax, std::fabs(w));
        if (out.codeCounts && hasCodes) ++out.codeCounts[code];
        if (out.errorBins) ++out.errorBins[std::bit_cast<std::uint32_t>(e) >> kFloatBinShift];
        if (out.valueBins) // on the axis of the levels
            ++out.valueBins[std::bit_cast<std::uint32_t>(placeOf(run.encoder, params, w)) >> kFloatBinShift];
    }
    sums.se = se.fold(), sums.se2 = se2.fold(), sums.sae = sae.fold();
    sums.sw2 = sw2.fold(), sums.swv = swv.fold(), sums.sv2 = sv2.fold();
    if (out.sums) out.sums->merge(sums);
    if (out.scales) out.scales[group] = params.scale;
    if (out.zeros) out.zeros[group] = offsetOf(run.encoder, params);
    groupSe2.flush(), groupSw2.flush();
    const bool inF32 = sumsInF32(run, params, std::bit_cast<unsigned>(groupMax));
    if (out.groupSse) out.groupSse[group] = float(inF32 ? groupSe2.total.fold() : sums.se2);
    if (out.groupSsw) out.groupSsw[group] = float(inF32 ? groupSw2.total.fold() : sums.sw2);
    if (out.groupAbsMax) out.groupAbsMax[group] = groupMax;
}

void quantize(const Run& run, const RunOut& out) {
    for (std::size_t begin = 0, group = 0; begin < run.n; begin += run.group, ++group) {
        const std::size_t n = std::min(run.group, run.n - begin);
        const GroupParams params =
            run.given ? run.given[group * run.givenStride] : groupParams(scalarKernels(), run, run.x + begin, n);
        quantizeGroup(run, out, params, begin, n, group);
    }
}

void dequantize(const std::uint8_t* codes, std::size_t n, std::size_t group, const float* scales, const float* levels,
                int levelCount, float* out) {
    for (std::size_t begin = 0, g = 0; begin < n; begin += group, ++g) {
        const std::size_t end = std::min(begin + group, n);
        for (std::size_t i = begin; i < end; ++i) out[i] = levels[std::min(int(codes[i]), levelCount - 1)] * scales[g];
    }
}

} // namespace qs::reference
