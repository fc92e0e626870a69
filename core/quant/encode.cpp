// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode.h"

#include "core/quant/code_set.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qs {
namespace {

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
        const float zero = run.encoder == Encoder::RoundAffine ? params[i * stride].aux : 0.0f;
        const float w = x[i], v = decoded[i];
        const bool counts = std::isfinite(w);
        const float e = counts ? v - w : 0.0f;
        if (stride) {
            if (out.scales) out.scales[group + i] = scale;
            if (out.zeros) out.zeros[group + i] = zero;
            if (out.groupSse) out.groupSse[group + i] = float(double(e) * double(e));
            if (out.groupSsw) out.groupSsw[group + i] = counts ? float(double(w) * double(w)) : 0.0f;
            if (out.groupAbsMax) out.groupAbsMax[group + i] = counts ? std::fabs(w) : 0.0f;
        }
        if (!counts) continue;
        const float low = (run.levels[0] - zero) * scale * 1.000001f,
                    high = (run.levels[run.levelCount - 1] - zero) * scale * 1.000001f;
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
        if (out.valueBins) {
            float scaled = scale != 0 ? w / scale : 0.0f;
            if (run.encoder == Encoder::RoundAffine) scaled += zero;
            ++out.valueBins[std::bit_cast<std::uint32_t>(scaled) >> kFloatBinShift];
        }
    }
    if (out.sums) out.sums->merge(sums);
    if (stride) return;
    if (out.scales) out.scales[group] = params->scale;
    if (out.zeros) out.zeros[group] = run.encoder == Encoder::RoundAffine ? params->aux : 0.0f;
    if (out.groupSse) out.groupSse[group] = float(sums.se2);
    if (out.groupSsw) out.groupSsw[group] = float(sums.sw2);
    if (out.groupAbsMax) out.groupAbsMax[group] = largest;
}

} // namespace

Run runOf(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    const CodeSet set = codeSetOf(spec);
    const auto levels = spec.effectiveDecode() == Decode::Poly ? traits.polyLevels : set.levels;
    const Calibration calibration = spec.effectiveCalibration();
    Run run = runFor(traits);
    run.encoder = set.encoder;
    run.zeroCode = std::max(0, set.zeroCode);
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

RunEncoder::RunEncoder(const QuantSpec& spec, DType source)
    : inputType_(inputTypeOf(spec, source)), blocks_(codecOf(spec)), rule_(spec), sparsity_(spec.sparsity),
      seed_(spec.randomSeed()) {}

GroupParams RunEncoder::params(const Run& run, const float* x, std::size_t n) const {
    if (rule_.isPlain()) return paramsOfGroup(run, inputType_, x, n);
    Run one = run;
    one.x = x, one.n = n, one.group = std::max<std::size_t>(1, n);
    GroupBound bound;
    rule_.bounds(one, &bound);
    return rule_.params(bound);
}

void RunEncoder::operator()(const Run& asked, const RunOut& out) {
    if (blocks_.codec()) return blocks_(asked, out);
    Run run = asked;
    if (!run.given && !rule_.isPlain()) {
        bounds_.resize((run.n + run.group - 1) / run.group);
        params_.resize(bounds_.size());
        rule_.bounds(run, bounds_.data());
        std::transform(bounds_.begin(), bounds_.end(), params_.begin(), [&](auto b) { return rule_.params(b); });
        run.given = params_.data(), run.givenStride = 1;
    }
    const bool perElement = run.group == 1 && run.given && run.givenStride == 1 && run.levelCount > 0;
    if (run.levelCount > 0 && (sparsity_ || seed_))
        altered(run, out);
    else if (!inputType_)
        bestKernels().quantize(run, out);
    else if (perElement)
        columns(run, out);
    else
        inInputType(run, out);
}

void keepLargest(const Sparsity& sparsity, float* x, std::size_t n) {
    std::vector<std::size_t> order(sparsity.of);
    for (std::size_t begin = 0; begin < n; begin += sparsity.of) {
        float* block = x + begin;
        order.resize(std::min<std::size_t>(sparsity.of, n - begin));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return std::fabs(block[a]) > std::fabs(block[b]); });
        for (std::size_t i = sparsity.keep; i < order.size(); ++i)
            if (std::isfinite(block[order[i]])) block[order[i]] = 0;
    }
}

float roundingNoise(std::uint64_t seed, std::uint64_t index) {
    // splitmix64 of a counter
    std::uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return float((z ^ z >> 31) >> 40) * 0x1p-24f - 0.5f;
}

void RunEncoder::encodeRandomly(const Run& run, const float* x) {
    const float low = run.levels[0], high = run.levels[run.levelCount - 1];
    const bool halves = low != std::floor(low);
    for (std::size_t i = 0; i < run.n; ++i) {
        const GroupParams& p = run.given[i / run.group * run.givenStride];
        const bool reciprocal = run.encoder == Encoder::RoundReciprocal, affine = run.encoder == Encoder::RoundAffine;
        const float exact = reciprocal ? x[i] * p.aux : affine ? x[i] / p.scale + p.aux : x[i] / p.aux;
        const float v = std::clamp(exact + roundingNoise(*seed_, run.index + i), low, high);
        const float level = halves ? std::floor(v) + 0.5f : std::nearbyint(v);
        codes_[i] = std::uint8_t(int(level - low));
        if (std::isnan(exact))
            codes_[i] = std::uint8_t(
                affine && !std::isnan(p.aux) ? int(std::nearbyint(std::clamp(p.aux, low, high) - low)) : run.zeroCode);
    }
}

// Values that are dropped or moved before they are rounded; what is measured is the distance to the values as they were.
void RunEncoder::altered(const Run& asked, const RunOut& out) {
    const KernelSet& kernels = bestKernels();
    reserve(asked.n);
    Run run = asked;
    if (!run.given) {
        params_.clear();
        for (std::size_t begin = 0; begin < run.n; begin += run.group)
            params_.push_back(params(run, run.x + begin, std::min(run.group, run.n - begin)));
        run.given = params_.data(), run.givenStride = 1;
    }
    std::copy_n(run.x, run.n, normalized_.data());
    if (sparsity_) keepLargest(*sparsity_, normalized_.data(), run.n);
    if (seed_) {
        encodeRandomly(run, normalized_.data());
    } else {
        Run inner = run;
        inner.x = normalized_.data();
        RunOut codesOnly;
        codesOnly.codes = codes_.data();
        kernels.quantize(inner, codesOnly);
    }
    for (std::size_t i = 0; i < run.n; ++i) {
        const GroupParams& p = run.given[i / run.group * run.givenStride];
        const float zero = run.encoder == Encoder::RoundAffine ? p.aux : 0.0f;
        decoded_[i] = (run.levels[codes_[i]] - zero) * p.scale;
        if (out.codeCounts && std::isfinite(run.x[i])) ++out.codeCounts[codes_[i]];
    }
    for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g)
        measure(run.x + begin, decoded_.data() + begin, std::min(run.group, run.n - begin),
                run.given + g * run.givenStride, 0, run, out, g);
    if (out.codes) std::copy_n(codes_.data(), run.n, out.codes);
    if (out.decoded) std::copy_n(decoded_.data(), run.n, out.decoded);
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
