// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/code_measure.h"

#include "kernels/blocks/block_set.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qs {
namespace {

constexpr std::size_t kMeasuredPiece =
    4096; ///< elements that go through all steps while they are in the first-level cache

bool isMeasured(const RunOut& out) {
    return out.sums || out.codeCounts || out.errorBins || out.valueBins || out.groupSse || out.groupSsw ||
           out.groupAbsMax;
}

} // namespace

void measureDecoded(const float* x, const float* decoded, std::size_t n, const GroupParams* params, std::size_t stride,
                    const Run& run, const RunOut& out, std::size_t group) {
    ErrorSums sums;
    float largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const GroupParams& p = params[i * stride];
        const float w = x[i], v = decoded[i];
        const bool counts = std::isfinite(w);
        const float e = counts ? v - w : 0.0f;
        if (stride) {
            if (out.scales) out.scales[group + i] = p.scale;
            if (out.zeros) out.zeros[group + i] = offsetOf(run.encoder, p);
            if (out.groupSse) out.groupSse[group + i] = float(double(e) * double(e));
            if (out.groupSsw) out.groupSsw[group + i] = counts ? float(double(w) * double(w)) : 0.0f;
            if (out.groupAbsMax) out.groupAbsMax[group + i] = counts ? std::fabs(w) : 0.0f;
        }
        if (!counts) continue;
        const ValueLimits limits = limitsOf(run, p);
        const double wd = double(w), vd = double(v), ed = double(e);
        sums.n += 1;
        sums.se += ed, sums.se2 += ed * ed, sums.sae += std::fabs(ed);
        sums.sw2 += wd * wd, sums.swv += wd * vd, sums.sv2 += vd * vd;
        sums.maxAbs = std::max(sums.maxAbs, std::fabs(e));
        sums.clipped += w > limits.high || w < limits.low;
        sums.zeros += v == 0;
        sums.signFlips += (w < 0 && v > 0) || (w > 0 && v < 0);
        largest = std::max(largest, std::fabs(w));
        if (out.errorBins) ++out.errorBins[std::bit_cast<std::uint32_t>(e) >> kFloatBinShift];
        if (out.valueBins) ++out.valueBins[std::bit_cast<std::uint32_t>(placeOf(run.encoder, p, w)) >> kFloatBinShift];
    }
    if (out.sums) out.sums->merge(sums);
    if (stride) return;
    if (out.scales) out.scales[group] = params->scale;
    if (out.zeros) out.zeros[group] = offsetOf(run.encoder, *params);
    if (out.groupSse) out.groupSse[group] = float(sums.se2);
    if (out.groupSsw) out.groupSsw[group] = float(sums.sw2);
    if (out.groupAbsMax) out.groupAbsMax[group] = largest;
}

void CodeMeasure::operator()(const Run& run, const std::uint8_t* codes, const RunOut& out) {
    const std::size_t groups = (run.n + run.group - 1) / run.group;
    const bool affine = run.encoder == Encoder::RoundAffine, biased = run.encoder == Encoder::RoundBiased;
    if (out.codes && out.codes != codes) std::copy_n(codes, run.n, out.codes);
    if (scales_.size() < groups) scales_.resize(groups);
    for (std::size_t g = 0; g < groups; ++g) scales_[g] = run.given[g * run.givenStride].scale;
    for (std::size_t g = 0; g < groups; ++g) {
        if (out.scales) out.scales[g] = scales_[g];
        if (out.zeros) out.zeros[g] = offsetOf(run.encoder, run.given[g * run.givenStride]);
    }
    if (!out.decoded && !isMeasured(out)) return;
    if (!out.decoded && decoded_.size() < run.n) decoded_.resize(run.n);
    float* decoded = out.decoded ? out.decoded : decoded_.data();
    for (std::size_t g = 0; (affine || biased) && g < groups; ++g) {
        const std::size_t begin = g * run.group, n = std::min(run.group, run.n - begin);
        const GroupParams& params = run.given[g * run.givenStride];
        if (affine)
            bestBlocks().shiftedValues(codes + begin, n, params, run.levels[0], decoded + begin);
        else
            bestBlocks().biasedValues(codes + begin, n, params, decoded + begin);
    }
    if (!affine && !biased)
        bestKernels().dequantize(codes, run.n, run.group, scales_.data(), run.levels, run.levelCount, decoded);
    if (!isMeasured(out)) return;
    if (run.group % 16 == 0 && run.n % run.group == 0) return wholeGroups(run, codes, decoded, out);
    for (std::size_t i = 0; i < run.n && out.codeCounts; ++i)
        if (std::isfinite(run.x[i])) ++out.codeCounts[codes[i]];
    for (std::size_t begin = 0, g = 0; begin < run.n; begin += run.group, ++g)
        measureDecoded(run.x + begin, decoded + begin, std::min(run.group, run.n - begin),
                       run.given + g * run.givenStride, 0, run, out, g);
}

void CodeMeasure::wholeGroups(const Run& run, const std::uint8_t* codes, const float* decoded, const RunOut& out) {
    const KernelSet& kernels = bestKernels();
    const BlockSet& blocks = bestBlocks();
    const std::size_t step = std::max<std::size_t>(1, kMeasuredPiece / run.group) * run.group;
    const std::size_t most = std::min(step, run.n);
    if (errors_.size() < most) errors_.resize(most), places_.resize(most);
    for (std::size_t at = 0; at < run.n; at += step) {
        const std::size_t n = std::min(step, run.n - at), first = at / run.group;
        RunOut part = out;
        if (part.groupSse) part.groupSse += first;
        if (part.groupSsw) part.groupSsw += first;
        if (part.groupAbsMax) part.groupAbsMax += first;
        blocks.measure(
            {run.x + at, decoded + at, codes + at, n, run.group, scales_.data() + first, run.levels, run.levelCount},
            part, errors_.data(), places_.data());
        if (out.errorBins) kernels.floatBins(errors_.data(), n, out.errorBins);
        if (out.valueBins) kernels.floatBins(places_.data(), n, out.valueBins);
    }
}

} // namespace qs
