// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/encode_plan.h"

#include "core/quant/encode/block_encoder.h"
#include "kernels/blocks/block_set.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace qs {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

} // namespace

void GroupStatistics::merge(const GroupStatistics& other) {
    absMax = std::isnan(absMax) || std::isnan(other.absMax) ? kNan : std::max(absMax, other.absMax);
    min = std::min(min, other.min), max = std::max(max, other.max);
    powers += other.powers;
    count += other.count, nonZero += other.nonZero;
}

namespace {

Run kernelRun(const QuantSpec& spec, const CodeSet& set, const CalibrationTraits* calibration) {
    const FormatTraits& traits = spec.traits();
    const auto levels = spec.effectiveDecode() == Decode::Poly ? traits.polyLevels : set.levels;
    Run run = runFor(traits);
    run.encoder = set.encoder;
    run.zeroCode = std::max(0, set.zeroCode);
    run.statistic = calibration && calibration->statistic ? calibration->statistic(run.encoder) : GroupStatistic::None;
    const bool clips =
        run.statistic == GroupStatistic::AbsMax && spec.calibration && !spec.calibration->arguments.empty();
    run.clip = clips ? float(spec.calibration->arguments.front()) : 1.0f;
    run.levels = levels.data();
    run.levelCount = int(levels.size());
    run.skipNonFinite = spec.effectiveNan() == NanPolicy::Skip;
    return run;
}

} // namespace

EncodePlan::EncodePlan(QuantSpec asked)
    : spec_(std::move(asked)), format_(&spec_.traits()), dialect_(&dialectOf(spec_)),
      calibration_(calibrationOf(spec_)), scaleType_(&scaleTypeOf(spec_)),
      arguments_(spec_.effectiveCalibration().arguments) {
    const QuantSpec& spec = spec_;
    const CodeSet set = codeSetOf(spec);
    encoder_ = set.encoder;
    run_ = kernelRun(spec, set, calibration_);
    affine_ = hasZeroPoints(spec);
    const bool inKernels =
        format_->kind == FormatKind::Sign || format_->kind == FormatKind::Identity || codecOf(spec) != nullptr;
    const bool ofLargest = calibration_ && calibration_->statistic && dialect_->isOwnArithmetic &&
                           calibration_->statistic(encoder_) == GroupStatistic::AbsMax;
    plain_ =
        inKernels || spec.scaleKind() == ScaleKind::None || (ofLargest && *scaleType_ == ScaleType::F32 && !affine_);
    trial_ = runFor(*format_);
    if (inKernels) return;
    needsTensorScale_ = scaleType_->ofTensor;
    needsValues_ = calibration_ && (calibration_->boundOfValues || calibration_->search);
    largestTaken_ = qs::largestTaken(spec);
    lowest_ = set.levels.front(), highest_ = range_ = set.levels.back();
    if (format_->encoder == Encoder::RoundInteger && dialect_->integerRange)
        range_ = dialect_->integerRange(float(1 << (format_->bits - 1)));
    trial_.encoder = set.encoder;
    trial_.levels = set.levels.data(), trial_.levelCount = int(set.levels.size());
    trial_.zeroCode = set.zeroCode;
    trial_.skipNonFinite = spec.effectiveNan() == NanPolicy::Skip;
}

GroupStatistics EncodePlan::measure(const float* x, std::size_t n) const {
    GroupStatistics s;
    const bool skip = trial_.skipNonFinite;
    s.count = n;
    if (calibration_->from == BoundFrom::Nothing) return s;
    s.absMax = bestKernels().absMax(x, n, skip);
    if (!dialect_->rangeHoldsZero && n > 0) s.min = s.max = x[0];
    if (calibration_->from == BoundFrom::Ends || affine_) {
        if (!skip || std::isfinite(bestKernels().absMax(x, n, false)))
            bestBlocks().range(x, n, s.min, s.max);
        else
            for (std::size_t i = 0; i < n; ++i)
                if (std::isfinite(x[i])) s.min = std::min(s.min, x[i]), s.max = std::max(s.max, x[i]);
    }
    if (calibration_->from != BoundFrom::Powers) return s;
    const double p = calibration_->power(arguments_);
    s.count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (skip && !std::isfinite(x[i])) continue;
        const double a = std::fabs(double(x[i]));
        ++s.count, s.nonZero += x[i] != 0;
        s.powers += p == 1 ? a : p == 2 ? a * a : std::pow(a, p);
    }
    return s;
}

GroupBound EncodePlan::bound(const GroupStatistics& measured) const {
    if (std::isnan(measured.absMax)) return {kNan, kNan};
    GroupStatistics s = measured;
    if (dialect_->zeroMaximumIsOne && s.absMax == 0) s.absMax = 1;
    if (calibration_->bound) return calibration_->bound(*this, s);
    return affine_ ? GroupBound{s.min, s.max} : GroupBound{-s.absMax, s.absMax};
}

void EncodePlan::bounds(const Run& run, GroupBound* out) const {
    const bool isLargest = calibration_->bound && calibration_->from == BoundFrom::Largest && !affine_;
    if (isLargest && !dialect_->zeroMaximumIsOne && factor() == 1) { // as bound(), without the way there
        const auto absMax = bestKernels().absMax;
        for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g) {
            const float most = absMax(run.x + begin, std::min(run.group, run.n - begin), trial_.skipNonFinite);
            out[g] = {-most, most};
        }
        return;
    }
    GroupStatistics only;
    for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g) {
        const std::size_t n = std::min(run.group, run.n - begin);
        if (isLargest) {
            only.absMax = bestKernels().absMax(run.x + begin, n, trial_.skipNonFinite);
            out[g] = bound(only);
        } else if (calibration_->boundOfValues) {
            out[g] = calibration_->boundOfValues(*this, run.x + begin, n);
        } else {
            out[g] = bound(measure(run.x + begin, n));
        }
    }
    if (calibration_->search) calibration_->search(*this, run, out);
}

std::optional<DType> EncodePlan::inputType(DType source) const {
    const bool half = source == DType::F16 || source == DType::BF16;
    return half && spec_.effectiveCompute() == Compute::Input ? std::optional(source) : std::nullopt;
}

SharedPlan EncodePlan::withTensorBound(float largest) const {
    auto plan = std::make_shared<EncodePlan>(*this);
    // compressed-tensors: the largest scale of the tensor becomes the largest e4m3.
    plan->tensorScale_ = largest > 0 && std::isfinite(largest) ? 448.0f * range_ / largest : 1.0f;
    if (!std::isfinite(plan->tensorScale_)) plan->tensorScale_ = FLT_MAX;
    return plan;
}

float EncodePlan::typed(float scale, float bound) const {
    return scaleType_->round ? scaleType_->round(*this, scale, bound) : scale;
}

bool EncodePlan::decodesFinite(const GroupParams& p) const {
    const float most = run_.levelCount ? std::max(-run_.levels[0], run_.levels[run_.levelCount - 1]) : 1.0f;
    const float zero = encoder_ == Encoder::RoundAffine ? std::fabs(p.aux) : 0.0f;
    const float sum = (std::max(most, 1.0f) + zero) * std::fabs(p.scale) + std::fabs(p.bias);
    return std::isfinite(sum) && std::isfinite(p.aux);
}

GroupParams EncodePlan::params(GroupBound bound) const {
    if (!std::isfinite(bound.low) || !std::isfinite(bound.high)) return {bound.high, bound.high};
    if (dialect_->params) return dialect_->params(*this, bound);
    return affine_ ? affineParams(bound) : symmetricParams(std::max(bound.high, 0.0f));
}

GroupParams EncodePlan::symmetricParams(float bound) const {
    const float scale = typed(dialect_->scaleOf ? dialect_->scaleOf(*this, bound) : bound / range_, bound);
    if (encoder_ == Encoder::RoundReciprocal) {
        const float reciprocal = 1 / scale;
        return {scale, std::isinf(reciprocal) ? 1.0f : reciprocal};
    }
    if (encoder_ == Encoder::NearestNf4 || encoder_ == Encoder::NearestLevel)
        return {scale, dialect_->dividesByScale ? scale : scale + FLT_MIN};
    return {scale, scale};
}

float EncodePlan::affineScale(GroupBound bound) const {
    float scale = (bound.high - bound.low) / (highest_ - lowest_);
    if (dialect_->affineScale)
        scale = dialect_->affineScale(scale);
    else if (scale == 0)
        scale = 1;
    if (std::isinf(scale)) scale = bound.high / (highest_ - lowest_) - bound.low / (highest_ - lowest_);
    return typed(scale, std::max(-bound.low, bound.high));
}

GroupParams EncodePlan::affineParams(GroupBound bound) const {
    const float scale = affineScale(bound);
    if (calibration_->findsZero) return {scale, roundedTo(*scaleType_, bound.zero)};
    return {scale, std::clamp(std::nearbyint(lowest_ - bound.low / scale), lowest_, highest_)};
}

} // namespace qs
