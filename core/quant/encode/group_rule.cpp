// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/group_rule.h"

#include "core/quant/encode/block_encoder.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/encode/encode.h"
#include "core/quant/encode/half_quadratic.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"
#include "kernels/blocks/block_set.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace qs {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kQwixLeast = 0x1p-63f; ///< sqrt(FLT_MIN)

float orOne(float value) { return value == 0 ? 1.0f : value; }
float throughF16(float value) { return f16ToF32(f32ToF16(value)); }

} // namespace

void GroupStatistics::merge(const GroupStatistics& other) {
    absMax = std::isnan(absMax) || std::isnan(other.absMax) ? kNan : std::max(absMax, other.absMax);
    min = std::min(min, other.min), max = std::max(max, other.max);
    squares += other.squares, powers += other.powers;
    count += other.count, nonZero += other.nonZero;
}

GroupRule::GroupRule(const QuantSpec& spec) {
    const CodeSet set = codeSetOf(spec);
    const FormatTraits& traits = spec.traits();
    const std::string dialect = spec.effectiveDialect();
    const Calibration calibration = spec.effectiveCalibration();
    encoder_ = set.encoder;
    scaleType_ = scaleTypeOf(spec);
    affine_ = hasZeroPoints(spec);
    arguments_ = calibration.arguments;
    const bool own = traits.kind == FormatKind::Sign || traits.kind == FormatKind::Identity || codecOf(spec) != nullptr;
    plain_ = own || spec.scaleKind() == ScaleKind::None ||
             (calibration.id == "absmax" && dialect == "eformer" && scaleType_ == ScaleType::F32 && !affine_);
    if (own) return;

    if (dialect == "aqt") family_ = Family::Aqt;
    if (dialect == "aqt_max") family_ = Family::AqtMax;
    if (dialect == "aqt_halves") family_ = Family::AqtHalves;
    if (dialect == "qwix") family_ = Family::Qwix;
    if (dialect == "ct") family_ = Family::Ct;
    if (dialect == "bnb") family_ = isBnb8(spec) ? Family::Bnb8 : Family::Bnb;
    if (hasBiases(spec)) family_ = Family::Mlx;
    if (dialect == "maxtext") {
        family_ = Family::Maxtext;
        if (const auto manual = parseManualQuantize(calibrationText(calibration), traits)) manual_ = *manual;
    }
    if (calibration.id == "minmax") measure_ = Measure::MinMax;
    if (calibration.id == "rms") measure_ = Measure::Rms;
    if (calibration.id == "fixed") measure_ = Measure::Fixed;
    if (calibration.id == "absmean") measure_ = Measure::AbsMean;
    if (calibration.id == "percentile") measure_ = Measure::Percentile;
    if (calibration.id == "mse") measure_ = Measure::Mse;
    if (calibration.id == "snr") measure_ = Measure::Snr;
    if (calibration.id == "hqq") measure_ = Measure::Hqq;
    needsValues_ = measure_ == Measure::Percentile || measure_ == Measure::Mse || measure_ == Measure::Snr ||
                   measure_ == Measure::Hqq;
    tensorScaled_ = hasTensorScale(spec);
    largest_ = largestTaken(spec);

    lowest_ = set.levels.front(), highest_ = range_ = set.levels.back();
    if (traits.encoder == Encoder::RoundInteger) {
        const float half = float(1 << (traits.bits - 1));
        if (family_ == Family::Aqt || family_ == Family::Qwix || family_ == Family::Ct) range_ = half - 0.5f;
        if (family_ == Family::AqtHalves) range_ = half;
    }
    run_ = runFor(traits);
    run_.encoder = set.encoder;
    run_.levels = set.levels.data(), run_.levelCount = int(set.levels.size());
    run_.zeroCode = set.zeroCode;
    run_.skipNonFinite = spec.effectiveNan() == NanPolicy::Skip;
}

GroupStatistics GroupRule::measure(const float* x, std::size_t n) const {
    GroupStatistics s;
    const bool skip = run_.skipNonFinite;
    s.count = n;
    if (measure_ == Measure::Fixed) return s;
    s.absMax = bestKernels().absMax(x, n, skip);
    if (family_ == Family::Mlx && n > 0) s.min = s.max = x[0];
    if (measure_ == Measure::MinMax || affine_) {
        if (!skip || std::isfinite(bestKernels().absMax(x, n, false)))
            bestBlocks().range(x, n, s.min, s.max);
        else
            for (std::size_t i = 0; i < n; ++i)
                if (std::isfinite(x[i])) s.min = std::min(s.min, x[i]), s.max = std::max(s.max, x[i]);
    }
    if (measure_ != Measure::Rms && measure_ != Measure::AbsMean) return s;
    const double p = measure_ == Measure::AbsMean ? arguments_[1] : 2;
    s.count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (skip && !std::isfinite(x[i])) continue;
        const double a = std::fabs(double(x[i]));
        ++s.count, s.nonZero += x[i] != 0;
        s.squares += a * a;
        if (measure_ == Measure::AbsMean) s.powers += p == 1 ? a : p == 2 ? a * a : std::pow(a, p);
    }
    return s;
}

GroupBound GroupRule::bound(const GroupStatistics& s) const {
    const float factor = arguments_.empty() ? 1.0f : float(arguments_.front());
    if (std::isnan(s.absMax)) return {kNan, kNan};
    const bool aqt = family_ == Family::Aqt || family_ == Family::AqtMax || family_ == Family::AqtHalves;
    const float absMax = aqt ? orOne(s.absMax) : s.absMax; // before it is clipped
    switch (measure_) {
    case Measure::MinMax: return factor == 1 ? GroupBound{s.min, s.max} : GroupBound{s.min * factor, s.max * factor};
    case Measure::Fixed: {
        const float high = float(arguments_.back());
        return {arguments_.size() == 2 ? float(arguments_.front()) : -high, high};
    }
    case Measure::Rms: {
        const float rms = s.count ? float(std::sqrt(s.squares / double(s.count))) : 0.0f;
        return {-rms * factor, rms * factor};
    }
    case Measure::AbsMean: {
        const double mean = s.nonZero ? s.powers / double(s.nonZero) : 0.0;
        const float bound = float(std::pow(mean, 1 / arguments_[1])) * factor;
        return {-bound, bound};
    }
    case Measure::AbsMax:
        return factor == 1 ? GroupBound{-absMax, absMax} : GroupBound{-absMax * factor, absMax * factor};
    default: break; // searches and percentiles start from the range
    }
    return affine_ ? GroupBound{s.min, s.max} : GroupBound{-absMax, absMax};
}

float GroupRule::percentileOf(const float* x, std::size_t n) const {
    std::vector<float> magnitudes;
    magnitudes.reserve(n);
    for (std::size_t i = 0; i < n; ++i)
        if (std::isfinite(x[i]))
            magnitudes.push_back(std::fabs(x[i]));
        else if (!run_.skipNonFinite)
            return kNan;
    if (magnitudes.empty()) return 0;
    const double at = arguments_.front() / 100 * double(magnitudes.size() - 1);
    const auto below = std::size_t(at);
    const auto place = magnitudes.begin() + std::ptrdiff_t(below);
    std::nth_element(magnitudes.begin(), place, magnitudes.end());
    const double low = double(*place);
    if (below + 1 == magnitudes.size()) return float(low);
    const double high = double(*std::min_element(place + 1, magnitudes.end()));
    return float(low + (high - low) * (at - double(below)));
}

void GroupRule::bounds(const Run& run, GroupBound* out) const {
    const bool isAbsMax = measure_ == Measure::AbsMax && !affine_;
    const bool aqt = family_ == Family::Aqt || family_ == Family::AqtMax || family_ == Family::AqtHalves;
    if (isAbsMax && !aqt && (arguments_.empty() || arguments_.front() == 1)) { // as bound(), without the way there
        const auto absMax = bestKernels().absMax;
        for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g) {
            const float most = absMax(run.x + begin, std::min(run.group, run.n - begin), run_.skipNonFinite);
            out[g] = {-most, most};
        }
        return;
    }
    GroupStatistics only;
    for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g) {
        const std::size_t n = std::min(run.group, run.n - begin);
        if (isAbsMax) {
            only.absMax = bestKernels().absMax(run.x + begin, n, run_.skipNonFinite);
            out[g] = bound(only);
        } else if (measure_ == Measure::Percentile) {
            const float high = percentileOf(run.x + begin, n);
            out[g] = {-high, high};
        } else if (measure_ == Measure::Hqq) {
            out[g] = halfQuadratic(run.x + begin, n);
        } else {
            out[g] = bound(measure(run.x + begin, n));
        }
    }
    if (measure_ == Measure::Mse || measure_ == Measure::Snr) search(run, out);
}

GroupBound GroupRule::halfQuadratic(const float* x, std::size_t n) const {
    std::vector<float> finite;
    finite.reserve(n);
    for (std::size_t i = 0; i < n; ++i)
        if (std::isfinite(x[i]))
            finite.push_back(x[i]);
        else if (!run_.skipNonFinite)
            return {kNan, kNan};
    if (finite.empty()) return {0, 0, lowest_};
    const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
    GroupBound bound{*low, *high};
    bound.zero = halfQuadraticZero(finite, affineParams(bound).scale, lowest_, highest_, halfQuadraticOf(arguments_));
    return bound;
}

// Every group takes the clip whose squared error is least, the first of equals. AQT starts at no clip and takes those
// whose log(1 + signal / noise) is above the best so far.
void GroupRule::search(const Run& run, GroupBound* bounds) const {
    const bool snr = measure_ == Measure::Snr;
    std::vector<float> clips(snr ? snrGrid().begin() : mseGrid().begin(), snr ? snrGrid().end() : mseGrid().end());
    if (!arguments_.empty()) clips.assign(arguments_.begin(), arguments_.end());
    const std::size_t groups = (run.n + run.group - 1) / run.group;
    std::vector<GroupParams> params(groups);
    std::vector<float> error(groups), energy(groups), chosen(groups, 1.0f);
    std::vector<double> best(groups, snr ? 0.0 : std::numeric_limits<double>::infinity());
    Run trial = run_;
    trial.x = run.x, trial.n = run.n, trial.group = run.group;
    trial.given = params.data(), trial.givenStride = 1;
    RunOut out;
    out.groupSse = error.data(), out.groupSsw = energy.data();
    for (const float clip : clips) {
        for (std::size_t g = 0; g < groups; ++g)
            params[g] = this->params({bounds[g].low * clip, bounds[g].high * clip});
        bestKernels().quantize(trial, out);
        for (std::size_t g = 0; g < groups; ++g) {
            const double figure = snr ? double(std::log(1 + energy[g] / error[g])) : double(error[g]); // f32, as AQT's
            if (snr ? figure > best[g] : figure < best[g]) best[g] = figure, chosen[g] = clip;
        }
    }
    for (std::size_t g = 0; g < groups; ++g) bounds[g].low *= chosen[g], bounds[g].high *= chosen[g];
}

void GroupRule::setTensorBound(float largest) {
    // compressed-tensors: the largest scale of the tensor becomes the largest e4m3.
    tensorScale_ = largest > 0 && std::isfinite(largest) ? 448.0f * range_ / largest : 1.0f;
    if (!std::isfinite(tensorScale_)) tensorScale_ = FLT_MAX;
}

float GroupRule::typed(float scale, float bound) const {
    switch (scaleType_) {
    case ScaleType::F32:
    case ScaleType::U8dq: return scale; // of all scales together: see double_quant.h
    case ScaleType::F16:
    case ScaleType::Bf16: return roundToHalf(scaleType_, scale);
    case ScaleType::Po2: return powerOfTwoAbove(scale);
    case ScaleType::E8m0:
        if (bound == 0) return 1;
        if (family_ == Family::Qwix) return powerOfTwoAbove(scale); // 0.1.8; later ones have another rule
        return powerOfTwoBelow(bound, -std::ilogb(highest_));
    case ScaleType::E4m3: return tensorScale_ > 0 ? roundToE4m3(scale * tensorScale_) / tensorScale_ : scale;
    case ScaleType::Ue4m3: return roundToE4m3(scale);
    }
    return scale;
}

GroupParams GroupRule::params(GroupBound bound) const {
    if (!std::isfinite(bound.low) || !std::isfinite(bound.high)) return {bound.high, bound.high};
    if (family_ == Family::Mlx) return biasedParams(bound);
    return affine_ ? affineParams(bound) : symmetricParams(std::max(bound.high, 0.0f));
}

GroupParams GroupRule::symmetricParams(float bound) const {
    float scale = bound / range_;
    switch (family_) {
    case Family::Aqt:
    case Family::AqtMax:
    case Family::AqtHalves: scale = orOne(bound) / range_; break;
    case Family::Qwix:
        if (scale < kQwixLeast) scale = 1;
        break;
    case Family::Ct:
        if (scale == 0 && encoder_ == Encoder::RoundInteger) scale = FLT_EPSILON;
        if (scale == 0 && scaleType_ != ScaleType::E4m3 && scaleType_ != ScaleType::Ue4m3) scale = 1;
        break;
    case Family::Bnb: return {bound, bound};
    case Family::Bnb8: { // the maximum of the values in f16 is that of the values, in f16
        const float most = throughF16(bound);
        return most > 0 ? GroupParams{most / 127.0f, 1.0f / most * 127.0f} : GroupParams{0, 1}; // as PyTorch divides
    }
    case Family::Maxtext: return {manual_.scale, manual_.divisor};
    case Family::Mlx: break; // see biasedParams()
    case Family::Eformer:
        if (encoder_ == Encoder::RoundInteger) scale += FLT_MIN;
        if (encoder_ == Encoder::RoundFloat) scale = orOne(scale);
        break;
    }
    scale = typed(scale, bound);
    if (encoder_ == Encoder::RoundReciprocal) {
        const float reciprocal = 1 / scale;
        return {scale, std::isinf(reciprocal) ? 1.0f : reciprocal};
    }
    if (encoder_ == Encoder::NearestNf4 || encoder_ == Encoder::NearestLevel)
        return {scale, family_ == Family::Qwix ? scale : scale + FLT_MIN};
    return {scale, scale};
}

GroupParams GroupRule::affineParams(GroupBound bound) const {
    float scale = (bound.high - bound.low) / (highest_ - lowest_);
    if (family_ == Family::Qwix && scale < kQwixLeast) scale = 1;
    if (scale == 0) scale = family_ == Family::Ct ? FLT_EPSILON : 1.0f;
    if (std::isinf(scale)) scale = bound.high / (highest_ - lowest_) - bound.low / (highest_ - lowest_);
    scale = typed(scale, std::max(-bound.low, bound.high));
    if (measure_ == Measure::Hqq) return {scale, roundedTo(scaleType_, bound.zero)};
    return {scale, std::clamp(std::nearbyint(lowest_ - bound.low / scale), lowest_, highest_)};
}

// mlx 0.32.4 mlx/backend/cpu/quantized.cpp, quantize(): the end of the range of larger magnitude is a multiple of the
// scale, so that 0 is a level where it is within; all in f32, and what is stored is rounded to its type afterwards.
GroupParams GroupRule::biasedParams(GroupBound bound) const {
    const bool below = std::fabs(bound.low) > std::fabs(bound.high);
    const float least = std::max((bound.high - bound.low) / (highest_ - lowest_), 1e-7f);
    const float edge = below ? bound.low : bound.high;
    if (std::fabs(edge) > largest_) return {kNan, kNan, kNan}; // so that whoever decodes it refuses the tensor
    float scale = below ? least : -least, bias = 0;
    if (const float steps = std::nearbyint(edge / scale); steps != 0) scale = edge / steps, bias = edge;
    bias = roundedTo(scaleType_, bias);
    return {roundedTo(scaleType_, scale), scale, bias};
}

std::span<const float> mseGrid() {
    static const std::vector<float> grid = [] {
        std::vector<float> out;
        for (int i = 0; i <= 28; ++i) out.push_back(float(40 - i) / 40.0f);
        return out;
    }();
    return grid;
}

std::span<const float> snrGrid() {
    static const std::vector<float> grid = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f};
    return grid;
}

} // namespace qs
