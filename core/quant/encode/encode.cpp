// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/encode.h"

#include "core/base/lanes.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/code_set.h"
#include "kernels/blocks/block_set.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

constexpr std::size_t kEncodedPiece =
    4096; ///< elements that go through two steps while they are in the first-level cache

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

} // namespace

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

RunEncoder::RunEncoder(SharedPlan plan, DType source, std::shared_ptr<const TensorScales> scales)
    : inputType_(plan->inputType(source)), blocks_(codecOf(plan->spec())), plan_(std::move(plan)),
      division_(plan_->dialect().division), sparsity_(plan_->spec().sparsity), seed_(plan_->spec().randomSeed()) {
    // A cast cuts off what becomes an integer; floats are rounded.
    if (division_ == Division::Truncated && plan_->encoder() != Encoder::RoundInteger) division_ = Division::ByDivisor;
    if (division_ == Division::ByReciprocalOfMaximum)
        boundaries_ = middlesOf(plan_->format().levels), multipliedBlock_ = plan_->spec().blockSize();
    if (scales && plan_->needsTensorScale()) plan_ = plan_->withTensorBound(scales->largest);
    if (scales && scales->nested) scales_ = std::move(scales);
}

// Codes are chosen by the maxima as they were, and decoded with what is stored of them.
void RunEncoder::nest(std::uint64_t index, GroupParams* params, std::size_t groups) const {
    if (!scales_) return;
    const NestedGrid& grid = *scales_->nested;
    thread_local std::vector<std::uint8_t> codes;
    thread_local std::vector<float> scales;
    codes.resize(groups), scales.resize(groups);
    for (std::size_t i = 0; i < groups; ++i) scales[i] = params[i].scale;
    grid.encode(index / multipliedBlock_, scales, codes.data());
    grid.decode(index / multipliedBlock_, codes, scales.data());
    for (std::size_t i = 0; i < groups; ++i) params[i].scale = scales[i];
}

GroupParams RunEncoder::params(const Run& run, const float* x, std::size_t n) const {
    if (plan_->isPlain()) return paramsOfGroup(run, inputType_, x, n);
    Run one = run;
    one.x = x, one.n = n, one.group = std::max<std::size_t>(1, n);
    GroupBound bound;
    plan_->bounds(one, &bound);
    GroupParams params = plan_->params(bound);
    if (n < multipliedBlock_) params.scale = std::max(params.scale, kLeastAbsMax); // the end of a tensor
    nest(run.index, &params, 1);
    return params;
}

void RunEncoder::params(const Run& run, GroupParams* out) {
    const std::size_t groups = (run.n + run.group - 1) / run.group;
    if (plan_->isPlain()) {
        for (std::size_t begin = 0; begin < run.n; begin += run.group)
            out[begin / run.group] = paramsOfGroup(run, inputType_, run.x + begin, std::min(run.group, run.n - begin));
        return watchGroups(run, out, 1);
    }
    bounds_.resize(groups);
    plan_->bounds(run, bounds_.data());
    std::transform(bounds_.begin(), bounds_.end(), out, [&](auto b) { return plan_->params(b); });
    if (groups > 0 && run.n - (groups - 1) * run.group < multipliedBlock_)
        out[groups - 1].scale = std::max(out[groups - 1].scale, kLeastAbsMax);
    nest(run.index, out, groups);
    watchGroups(run, out, 1);
}

void RunEncoder::watchOverflow(std::shared_ptr<std::atomic<bool>> met, bool given) {
    blocks_.watchOverflow(met);
    overflow_ = std::move(met), watchesGiven_ = given;
}

void RunEncoder::sayOverflow() const {
    if (overflow_) overflow_->store(true, std::memory_order_relaxed);
}

/// Whether the values of a group decode to finite ones; true too where they are not finite themselves.
bool RunEncoder::staysFinite(const Run& run, std::size_t begin, const GroupParams& params) {
    Run one = run;
    one.x += begin, one.index += begin;
    one.n = one.group = std::min(run.group, run.n - begin);
    one.given = &params, one.givenStride = 0;
    const auto absMax = bestKernels().absMax;
    if (!std::isfinite(absMax(one.x, one.n, plan_->run().skipNonFinite))) return true;
    std::vector<float> decoded(one.n);
    RunOut out;
    out.decoded = decoded.data();
    encode(one, out);
    return std::isfinite(absMax(decoded.data(), one.n, false));
}

void RunEncoder::watchGroups(const Run& run, const GroupParams* params, std::size_t stride) {
    if (!overflow_) return;
    for (std::size_t begin = 0; begin < run.n; begin += run.group, params += stride)
        if (!plan_->decodesFinite(*params) && !staysFinite(run, begin, *params)) return sayOverflow();
}

/// Whether finite values that become f16 or bf16 themselves are beyond it.
static bool leavesHalf(const Run& run, bool skipsNonFinite) {
    const bool isF16 = run.encoder == Encoder::RoundF16;
    if (!isF16 && run.encoder != Encoder::RoundBf16) return false;
    const float most = bestKernels().absMax(run.x, run.n, skipsNonFinite);
    return std::isfinite(most) && most > largestOf(isF16 ? DType::F16 : DType::BF16);
}

/// The scales that a kernel found by itself.
void RunEncoder::watchPlain(const Run& run, const RunOut& out) {
    for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g) {
        if (plan_->decodesFinite({out.scales[g], 1})) continue;
        const auto found = params(run, run.x + begin, std::min(run.group, run.n - begin));
        if (!staysFinite(run, begin, found)) return sayOverflow();
    }
}

void RunEncoder::operator()(const Run& run, const RunOut& out) {
    if (blocks_.codec()) return blocks_(run, out);
    if (!overflow_) return encode(run, out);
    if (leavesHalf(run, plan_->run().skipNonFinite)) sayOverflow();
    if (run.given) {
        if (watchesGiven_) watchGroups(run, run.given, run.givenStride);
        return encode(run, out);
    }
    RunOut watched = out;
    if (plan_->isPlain() && !watched.scales) {
        scalesOfRun_.resize((run.n + run.group - 1) / run.group);
        watched.scales = scalesOfRun_.data();
    }
    encode(run, watched);
    if (plan_->isPlain() && run.levelCount > 0) watchPlain(run, watched);
}

void RunEncoder::encode(const Run& asked, const RunOut& out) {
    Run run = asked;
    if (!run.given && !plan_->isPlain()) {
        params_.resize((run.n + run.group - 1) / run.group);
        params(run, params_.data());
        run.given = params_.data(), run.givenStride = 1;
    }
    const bool perElement = run.group == 1 && run.given && run.givenStride == 1 && run.levelCount > 0;
    if (division_ == Division::ByReciprocalOfMaximum)
        multiplied(run, out);
    else if (division_ == Division::InHalf)
        cast(run, out);
    else if (division_ == Division::Truncated && run.given)
        truncated(run, out);
    else if (run.levelCount > 0 && (sparsity_ || seed_))
        altered(run, out);
    else if ((run.encoder == Encoder::RoundAffine || run.encoder == Encoder::RoundBiased) && run.given && !perElement)
        shifted(run, out);
    else if (!inputType_)
        bestKernels().quantize(run, out);
    else if (perElement)
        columns(run, out);
    else
        inInputType(run, out);
}

namespace {

bool isLarger(float a, float b) { return std::fabs(a) > std::fabs(b); }

/// All pairs of a few values are compared sooner than they are sorted.
template<std::size_t of> void keepOfFew(std::size_t keep, float* x, std::size_t n) {
    for (std::size_t begin = 0; begin < n; begin += of) {
        float* block = x + begin;
        unsigned rank[of] = {};
        for (std::size_t i = 0; i < of; ++i)
            for (std::size_t j = i + 1; j < of; ++j) {
                const bool later = isLarger(block[j], block[i]);
                rank[i] += later, rank[j] += !later;
            }
        for (std::size_t i = 0; i < of; ++i)
            if (rank[i] >= keep && std::isfinite(block[i])) block[i] = 0;
    }
}

} // namespace

void keepLargest(const Sparsity& sparsity, float* x, std::size_t n) {
    const std::size_t whole = n - n % sparsity.of;
    std::size_t begin = whole;
    switch (sparsity.of) {
    case 2: keepOfFew<2>(sparsity.keep, x, whole); break;
    case 4: keepOfFew<4>(sparsity.keep, x, whole); break;
    case 8: keepOfFew<8>(sparsity.keep, x, whole); break;
    case 16: keepOfFew<16>(sparsity.keep, x, whole); break;
    default: begin = 0;
    }
    std::vector<std::size_t> order(sparsity.of);
    for (; begin < n; begin += sparsity.of) {
        float* block = x + begin;
        order.resize(std::min<std::size_t>(sparsity.of, n - begin));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return isLarger(block[a], block[b]); });
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

/// Bits of a float's neighbour of a magnitude within its range, the one above as often as it is near; `noise` in [0, 1).
static int randomMagnitude(const FloatShape& shape, float magnitude, float noise) {
    const int least = 1 - shape.bias; // of the exponents; below 2^least all floats are as far apart
    const int exponent = std::max(least, magnitude > 0 ? std::ilogb(magnitude) : least);
    const float units = std::ldexp(magnitude, shape.mantissa - exponent); // exact
    const float below = std::floor(units);
    // Bits count on over the exponents: 2^mantissa a binade.
    return ((exponent - least) << shape.mantissa) + int(below) + (units - below > noise ? 1 : 0);
}

void RunEncoder::encodeRandomly(const Run& run, const float* x) {
    if (run.encoder == Encoder::RoundFloat) return encodeFloatsRandomly(run, x);
    const float low = run.levels[0], high = run.levels[run.levelCount - 1];
    const bool halves = low != std::floor(low);
    const bool reciprocal = run.encoder == Encoder::RoundReciprocal, affine = run.encoder == Encoder::RoundAffine;
    for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g) {
        const GroupParams& p = run.given[g * run.givenStride];
        for (std::size_t i = begin, end = std::min(run.n, begin + run.group); i < end; ++i) {
            const float exact = reciprocal ? x[i] * p.aux : affine ? x[i] / p.scale + p.aux : x[i] / p.aux;
            if (std::isnan(exact)) {
                codes_[i] =
                    std::uint8_t(affine && !std::isnan(p.aux) ? int(std::nearbyint(std::clamp(p.aux, low, high) - low))
                                                              : run.zeroCode);
                continue;
            }
            const float v = std::clamp(exact + roundingNoise(*seed_, run.index + i), low, high);
            // Within the levels, 1.5 * 2^23 rounds half to even.
            const float level = halves ? std::floor(v) + 0.5f : (v + 12582912.0f) - 12582912.0f;
            codes_[i] = std::uint8_t(int(level - low));
        }
    }
}

void RunEncoder::encodeFloatsRandomly(const Run& run, const float* x) {
    const float most = run.levels[run.levelCount - 1];
    for (std::size_t i = 0; i < run.n; ++i) {
        const float exact = x[i] / run.given[i / run.group * run.givenStride].aux;
        const float noise = roundingNoise(*seed_, run.index + i) + 0.5f;
        if (std::isnan(exact)) {
            codes_[i] = std::uint8_t(run.zeroCode);
            continue;
        }
        const int bits = randomMagnitude(run.shape, std::min(std::fabs(exact), most), noise);
        const int negative = run.zeroCode - bits - (run.shape.minusZero ? 1 : 0);
        codes_[i] = std::uint8_t(std::signbit(exact) ? negative : run.zeroCode + bits);
    }
}

// Values that are dropped or moved before they are rounded; what is measured is the distance to the values as they were.
void RunEncoder::altered(const Run& asked, const RunOut& out) {
    const KernelSet& kernels = bestKernels();
    reserve(asked.n);
    Run run = asked;
    if (!run.given) {
        params_.resize((run.n + run.group - 1) / run.group);
        params(run, params_.data());
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
    measure_(run, codes_.data(), out);
}

// bitsandbytes multiplies by the reciprocal of the absolute maximum, and divides what is left at the end of a tensor.
void RunEncoder::multiplied(const Run& run, const RunOut& out) {
    reserve(run.n);
    static constexpr GroupParams unit{1, 1};
    Run inner = run;
    inner.x = normalized_.data(), inner.given = &unit, inner.givenStride = 0;
    inner.encoder = Encoder::NearestLevel, inner.boundaries = boundaries_.data();
    std::uint8_t* codes = out.codes ? out.codes : codes_.data();
    const std::size_t step = std::max<std::size_t>(1, kEncodedPiece / run.group) * run.group;
    for (std::size_t from = 0; from < run.n; from += step) {
        const std::size_t to = std::min(run.n, from + step);
        for (std::size_t begin = from, g = from / run.group; begin < to; begin += run.group, ++g) {
            const std::size_t n = std::min(run.group, to - begin);
            const float most = std::max(run.given[g * run.givenStride].aux, kLeastAbsMax), inverse = 1.0f / most;
            const float* x = run.x + begin;
            float* scaled = normalized_.data() + (begin - from);
            std::size_t i = 0;
            FloatLanes lanes;
            for (; n >= multipliedBlock_ && i + kLanes <= n; i += kLanes)
                load(lanes, x + i), lanes *= inverse, store(lanes, scaled + i);
            for (; i < n; ++i) scaled[i] = x[i] / most; // whole blocks are whole lanes
        }
        inner.n = inner.group = to - from;
        RunOut codesOnly;
        codesOnly.codes = codes + from;
        bestKernels().quantize(inner, codesOnly);
    }
    measure_(run, codes, out);
}

// LLM.int8 rounds f16(x) * (1 / maximum * 127); errors are those to the values as they were.
void RunEncoder::cast(const Run& run, const RunOut& out) {
    reserve(run.n);
    std::copy_n(run.x, run.n, normalized_.data());
    roundTo(DType::F16, normalized_.data(), run.n, halves_);
    Run inner = run;
    inner.x = normalized_.data();
    RunOut codesOnly;
    codesOnly.codes = out.codes ? out.codes : codes_.data();
    bestKernels().quantize(inner, codesOnly);
    measure_(run, codesOnly.codes, out);
}

// An integer is what is left of the quotient, as a cast does it.
void RunEncoder::truncated(const Run& run, const RunOut& out) {
    reserve(run.n);
    for (std::size_t i = 0; i < run.n; ++i)
        normalized_[i] = std::trunc(run.x[i] / run.given[i / run.group * run.givenStride].aux);
    static constexpr GroupParams unit{1, 1};
    Run inner = run;
    inner.x = normalized_.data(), inner.group = run.n, inner.given = &unit, inner.givenStride = 0;
    RunOut codesOnly;
    codesOnly.codes = codes_.data();
    bestKernels().quantize(inner, codesOnly);
    measure_(run, codes_.data(), out);
}

// Zero points and biases.
void RunEncoder::shifted(const Run& run, const RunOut& out) {
    reserve(run.n);
    const KernelSet& kernels = bestKernels();
    const BlockSet& blocks = bestBlocks();
    const float low = run.levels[0], high = run.levels[run.levelCount - 1];
    const bool biased = run.encoder == Encoder::RoundBiased;
    const bool allFinite = std::isfinite(kernels.absMax(run.x, run.n, false));
    for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g) {
        const std::size_t n = std::min(run.group, run.n - begin);
        const GroupParams& p = run.given[g * run.givenStride];
        const float* x = run.x + begin;
        std::uint8_t* codes = codes_.data() + begin;
        const bool finite = allFinite || std::isfinite(kernels.absMax(x, n, false));
        if (biased && finite) {
            blocks.biasedCodes(x, n, p, high, codes);
            continue;
        }
        if (!biased && finite && std::isfinite(p.aux) && p.scale > 0) {
            blocks.shiftedCodes(x, n, p, low, high, codes);
            continue;
        }
        Run one = run; // the reference knows what NaN and Inf become
        one.x = x, one.n = n, one.group = n, one.given = &p;
        RunOut codesOnly;
        codesOnly.codes = codes;
        kernels.quantize(one, codesOnly);
    }
    measure_(run, codes_.data(), out);
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
    measureDecoded(run.x, decoded_.data(), run.n, run.given, 1, run, out, 0);
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
        measureDecoded(x, decoded_.data(), n, &params, 0, run, out, group);
        if (out.codes) std::copy_n(codes_.data(), n, out.codes + begin);
        if (out.decoded) std::copy_n(decoded_.data(), n, out.decoded + begin);
    }
}

} // namespace qs
