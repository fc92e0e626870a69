// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/kernel_set.h"

#include "kernels/level_boundaries.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace qs {
namespace {

float mean(double sum, std::uint64_t count) { return count ? float(sum / double(count)) : 0.0f; }

} // namespace

Run runFor(const FormatTraits& format) {
    Run run;
    run.encoder = format.encoder;
    run.levels = format.levels.data(), run.levelCount = int(format.levels.size());
    run.zeroCode = std::max(0, format.zeroCode);
    run.shape = format.shape;
    if (run.encoder == Encoder::NearestLevel) run.boundaries = boundariesOf(format.levels).data();
    return run;
}

GroupParams paramsFromAbsMax(Encoder encoder, float absMax, float clip, float range) {
    const float bound = clip == 1 ? absMax : clip * absMax;
    switch (encoder) {
    case Encoder::NearestNf4:
    case Encoder::NearestLevel: return {bound, bound + FLT_MIN};
    case Encoder::RoundInteger: {
        const float scale = bound / range + FLT_MIN;
        return {scale, scale};
    }
    case Encoder::RoundFloat: {
        const float scale = bound / range; // a bound so small that this underflows counts as 0
        return scale == 0 ? GroupParams{1, 1} : GroupParams{scale, scale};
    }
    default: return {bound, bound};
    }
}

GroupParams paramsFromAbsMax(const Run& run, float absMax) {
    return paramsFromAbsMax(run.encoder, absMax, run.clip, run.levelCount ? run.levels[run.levelCount - 1] : 1.0f);
}

GroupParams paramsFromMeanAbs(Encoder encoder, double sumAbs, std::uint64_t count) {
    const float scale = mean(sumAbs, count);
    return {scale, encoder == Encoder::RoundTernary ? scale + 1e-5f : scale};
}

float offsetOf(Encoder encoder, const GroupParams& params) {
    if (encoder == Encoder::RoundBiased) return params.bias;
    return encoder == Encoder::RoundAffine ? params.aux : 0.0f;
}

float placeOf(Encoder encoder, const GroupParams& params, float value) {
    if (encoder == Encoder::RoundBiased) return params.scale != 0 ? (value - params.bias) / params.scale : 0.0f;
    const float scaled = params.scale != 0 ? value / params.scale : 0.0f;
    return encoder == Encoder::RoundAffine ? scaled + params.aux : scaled;
}

ValueLimits limitsOf(const Run& run, const GroupParams& params) {
    constexpr float kWider = 1.000001f, kInfinite = std::numeric_limits<float>::infinity();
    if (run.encoder == Encoder::RoundF16) return {-65504.0f * kWider, 65504.0f * kWider};
    if (run.levelCount == 0) return {-kInfinite, kInfinite};
    const float first = run.levels[0], last = run.levels[run.levelCount - 1], offset = offsetOf(run.encoder, params);
    if (run.encoder == Encoder::RoundBiased) { // a negative scale reverses the order of the levels
        const float a = first * kWider * params.scale + offset, b = last * kWider * params.scale + offset;
        return {std::min(a, b), std::max(a, b)};
    }
    if (offset == 0) return {first * params.scale * kWider, last * params.scale * kWider};
    return {(first * kWider - offset) * params.scale, (last * kWider - offset) * params.scale};
}

float twnThreshold(double sumAbs, std::uint64_t count) { return 0.7f * mean(sumAbs, count); }
GroupParams paramsFromTwn(float threshold, const AboveSum& above) { return {mean(above.sum, above.count), threshold}; }

float meanForStd(double sum, std::uint64_t count) { return count ? float(sum) / float(count) : 0.0f; }
GroupParams paramsFromHalfStd(double sumSquaredDeviation, std::uint64_t count) {
    const float variance = count ? float(sumSquaredDeviation) / float(count) : 0.0f;
    return {1.0f, 0.5f * std::sqrt(variance)};
}

GroupParams groupParams(const KernelSet& kernels, const Run& run, const float* x, std::size_t n) {
    const bool finiteOnly = run.skipNonFinite;
    std::uint64_t count = 0;
    switch (run.statistic) {
    case GroupStatistic::None: return {};
    case GroupStatistic::AbsMax: return paramsFromAbsMax(run, kernels.absMax(x, n, finiteOnly));
    case GroupStatistic::MeanAbs: {
        const double total = kernels.sumAbs(x, n, finiteOnly, &count);
        return paramsFromMeanAbs(run.encoder, total, count);
    }
    case GroupStatistic::MeanAbsTwn: {
        const double total = kernels.sumAbs(x, n, finiteOnly, &count);
        const float threshold = twnThreshold(total, count);
        return paramsFromTwn(threshold, kernels.sumAbsAbove(x, n, threshold));
    }
    case GroupStatistic::HalfStd: {
        const double total = kernels.sum(x, n, finiteOnly, &count);
        const float center = meanForStd(total, count);
        return paramsFromHalfStd(kernels.sumSquaredDeviation(x, n, center, finiteOnly), count);
    }
    }
    return {};
}

void ErrorSums::merge(const ErrorSums& other) {
    n += other.n;
    se += other.se, se2 += other.se2, sae += other.sae;
    sw2 += other.sw2, swv += other.swv, sv2 += other.sv2;
    maxAbs = std::max(maxAbs, other.maxAbs);
    clipped += other.clipped, zeros += other.zeros, signFlips += other.signFlips;
}

float pivotOf(const float* x, std::size_t n) {
    constexpr std::size_t kMost = 15;
    float some[kMost];
    std::size_t count = 0;
    const std::size_t step = n / kMost + (n % kMost != 0);
    for (std::size_t i = 0; i < n; i += step)
        if (std::isfinite(x[i])) some[count++] = x[i];
    if (count == 0) return 0;
    std::nth_element(some, some + count / 2, some + count);
    return some[count / 2];
}

double Moments::squares() const {
    const double p = double(pivot);
    return s2 + p * (2 * s1 + p * n);
}

void Moments::merge(const Moments& other) {
    if (other.n > 0) {
        if (n == 0) pivot = other.pivot;
        min = n > 0 ? std::min(min, other.min) : other.min;
        max = n > 0 ? std::max(max, other.max) : other.max;
        // The sums of `other`, moved to this pivot by d
        const double d = double(other.pivot) - double(pivot), a = other.s1, b = other.s2, c = other.s3;
        n += other.n;
        s1 += a + other.n * d;
        s2 += b + d * (2 * a + other.n * d);
        s3 += c + d * (3 * b + d * (3 * a + other.n * d));
        s4 += other.s4 + d * (4 * c + d * (6 * b + d * (4 * a + other.n * d)));
    }
    nan += other.nan, inf += other.inf, zeros += other.zeros;
}

} // namespace qs
