// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qs {
namespace {

Encoder encoderOf(const QuantSpec& spec) {
    // BitNet rounds where other dialects have a threshold.
    return spec.effectiveDialect() == "bitnet" ? Encoder::RoundTernary : spec.traits().encoder;
}

GroupStatistic statisticOf(const QuantSpec& spec, Encoder encoder) {
    const std::string calibration = spec.effectiveCalibration().id;
    if (calibration == "absmax") return GroupStatistic::AbsMax;
    if (calibration == "std") return GroupStatistic::HalfStd;
    if (calibration == "absmean")
        return encoder == Encoder::Threshold ? GroupStatistic::MeanAbsTwn : GroupStatistic::MeanAbs;
    return GroupStatistic::None;
}

void roundTo(DType type, float* values, std::size_t n, std::vector<std::uint16_t>& halves) {
    const KernelSet& kernels = bestKernels();
    halves.resize(std::max(halves.size(), n));
    const bool f16 = type == DType::F16;
    (f16 ? kernels.f32ToF16 : kernels.f32ToBf16)(values, n, halves.data());
    (f16 ? kernels.f16ToF32 : kernels.bf16ToF32)(halves.data(), n, values);
}

float rounded(DType type, float value) {
    std::vector<std::uint16_t> half;
    roundTo(type, &value, 1, half);
    return value;
}

/// What KernelSet::quantize measures, for codes that were made elsewhere. `stride` 0: one group, number `group`; 1:
/// every element is a group of its own, from number `group` on.
void measure(const float* x, const float* decoded, std::size_t n, const GroupParams* params, std::size_t stride,
             const Run& run, const RunOut& out, std::size_t group) {
    ErrorSums sums;
    float largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const float scale = params[i * stride].scale;
        const float w = x[i], v = decoded[i];
        const bool counts = std::isfinite(w);
        const float e = counts ? v - w : 0.0f;
        if (stride) {
            if (out.scales) out.scales[group + i] = scale;
            if (out.groupSse) out.groupSse[group + i] = float(double(e) * double(e));
            if (out.groupSsw) out.groupSsw[group + i] = counts ? float(double(w) * double(w)) : 0.0f;
            if (out.groupAbsMax) out.groupAbsMax[group + i] = counts ? std::fabs(w) : 0.0f;
        }
        if (!counts) continue;
        const float low = run.levels[0] * scale * 1.000001f, high = run.levels[run.levelCount - 1] * scale * 1.000001f;
        const double wd = double(w), vd = double(v), ed = double(e);
        sums.n += 1;
        sums.se += ed, sums.se2 += ed * ed, sums.sae += std::fabs(ed);
        sums.sw2 += wd * wd, sums.swv += wd * vd, sums.sv2 += vd * vd;
        sums.maxAbs = std::max(sums.maxAbs, std::fabs(e));
        sums.clipped += w > high || w < low;
        sums.zeros += v == 0;
        sums.signFlips += (w < 0 && v > 0) || (w > 0 && v < 0);
        largest = std::max(largest, std::fabs(w));
        if (out.errorBins) ++out.errorBins[std::bit_cast<std::uint32_t>(e) >> kFloatBinShift];
        if (out.valueBins)
            ++out.valueBins[std::bit_cast<std::uint32_t>(scale != 0 ? w / scale : 0.0f) >> kFloatBinShift];
    }
    if (out.sums) out.sums->merge(sums);
    if (stride) return;
    if (out.scales) out.scales[group] = params->scale;
    if (out.groupSse) out.groupSse[group] = float(sums.se2);
    if (out.groupSsw) out.groupSsw[group] = float(sums.sw2);
    if (out.groupAbsMax) out.groupAbsMax[group] = largest;
}

} // namespace

Run runOf(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    const auto levels = spec.effectiveDecode() == Decode::Poly ? traits.polyLevels : traits.levels;
    const Calibration calibration = spec.effectiveCalibration();
    Run run = runFor(traits);
    run.encoder = encoderOf(spec);
    run.statistic = statisticOf(spec, run.encoder);
    run.clip =
        calibration.id == "absmax" && !calibration.arguments.empty() ? float(calibration.arguments.front()) : 1.0f;
    run.levels = levels.data();
    run.levelCount = int(levels.size());
    run.skipNonFinite = spec.effectiveNan() == NanPolicy::Skip;
    return run;
}

std::optional<DType> inputTypeOf(const QuantSpec& spec, DType source) {
    const bool half = source == DType::F16 || source == DType::BF16;
    return half && spec.effectiveCompute() == Compute::Input ? std::optional(source) : std::nullopt;
}

GroupParams paramsOfAbsMax(const Run& run, std::optional<DType> inputType, float absMax) {
    if (!inputType) return paramsFromAbsMax(run, absMax);
    const float tiny = *inputType == DType::F16 ? 0x1p-14f : 0x1p-126f; // finfo(dtype).tiny
    const float bound = run.clip == 1 ? absMax : rounded(*inputType, run.clip * absMax);
    if (run.encoder == Encoder::NearestNf4) return {bound, rounded(*inputType, bound + tiny)};
    const float scale = rounded(*inputType, rounded(*inputType, bound / run.levels[run.levelCount - 1]) + tiny);
    return {scale, scale};
}

GroupParams paramsOfGroup(const Run& run, std::optional<DType> inputType, const float* x, std::size_t n) {
    if (!inputType) return groupParams(bestKernels(), run, x, n);
    return paramsOfAbsMax(run, inputType, bestKernels().absMax(x, n, run.skipNonFinite));
}

void RunEncoder::operator()(const Run& run, const RunOut& out) {
    if (blocks_.codec()) return blocks_(run, out);
    const bool perElement = run.group == 1 && run.given && run.givenStride == 1 && run.levelCount > 0;
    if (!inputType_)
        bestKernels().quantize(run, out);
    else if (perElement)
        columns(run, out);
    else
        inInputType(run, out);
}

void RunEncoder::reserve(std::size_t n) {
    if (codes_.size() >= n) return;
    normalized_.resize(n), decoded_.resize(n), codes_.resize(n);
}

// With the division done, encoders that divide are those of the kernels at a divisor of 1.
void RunEncoder::encodeNormalized(const Run& run, std::size_t n, const RunOut& out) {
    static constexpr GroupParams unit{1, 1};
    Run inner = run;
    inner.x = normalized_.data(), inner.n = n, inner.group = n;
    inner.given = &unit, inner.givenStride = 0;
    RunOut codesOnly;
    codesOnly.codes = codes_.data();
    codesOnly.codeCounts = out.codeCounts;
    bestKernels().quantize(inner, codesOnly);
}

// Scales that follow columns, every division rounded to the input type.
void RunEncoder::columns(const Run& run, const RunOut& out) {
    reserve(run.n);
    for (std::size_t i = 0; i < run.n; ++i) normalized_[i] = run.x[i] / run.given[i].aux;
    roundTo(*inputType_, normalized_.data(), run.n, halves_);
    encodeNormalized(run, run.n, out);
    for (std::size_t i = 0; i < run.n; ++i) decoded_[i] = run.levels[codes_[i]] * run.given[i].scale;
    measure(run.x, decoded_.data(), run.n, run.given, 1, run, out, 0);
    if (out.codes) std::copy_n(codes_.data(), run.n, out.codes);
    if (out.decoded) std::copy_n(decoded_.data(), run.n, out.decoded);
}

// The division is rounded to the input type; a quotient of two 11-bit floats in f32 rounds to them as if done once.
void RunEncoder::inInputType(const Run& run, const RunOut& out) {
    const KernelSet& kernels = bestKernels();
    for (std::size_t begin = 0, group = 0; begin < run.n; begin += run.group, ++group) {
        const std::size_t n = std::min(run.group, run.n - begin);
        const float* x = run.x + begin;
        const GroupParams params =
            run.given ? run.given[group * run.givenStride] : paramsOfGroup(run, inputType_, x, n);
        reserve(n);
        for (std::size_t i = 0; i < n; ++i) normalized_[i] = x[i] / params.aux;
        roundTo(*inputType_, normalized_.data(), n, halves_);
        encodeNormalized(run, n, out);
        kernels.dequantize(codes_.data(), n, n, &params.scale, run.levels, run.levelCount, decoded_.data());
        measure(x, decoded_.data(), n, &params, 0, run, out, group);
        if (out.codes) std::copy_n(codes_.data(), n, out.codes + begin);
        if (out.decoded) std::copy_n(decoded_.data(), n, out.decoded + begin);
    }
}

} // namespace qs
