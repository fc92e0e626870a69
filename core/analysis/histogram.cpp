// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/histogram.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>

namespace qs {
namespace {

constexpr std::size_t kNegative = kFloatBins / 2;
constexpr std::size_t kInfinite = 0x7f800000u >> kFloatBinShift; ///< first bin of infinity

double magnitudeLower(std::size_t bin) {
    if (bin >= kInfinite) return std::numeric_limits<double>::infinity();
    return double(std::bit_cast<float>(std::uint32_t(bin) << kFloatBinShift));
}
double magnitudeUpper(std::size_t bin) { return bin + 1 == kInfinite ? double(FLT_MAX) : magnitudeLower(bin + 1); }

} // namespace

double floatBinLower(std::size_t bin) {
    return bin < kNegative ? magnitudeLower(bin) : -magnitudeUpper(bin - kNegative);
}
double floatBinUpper(std::size_t bin) {
    return bin < kNegative ? magnitudeUpper(bin) : -magnitudeLower(bin - kNegative);
}

void FloatHistogram::add(std::span<const std::uint32_t> bins) {
    for (std::size_t bin = 0; bin < std::min(bins.size(), counts_.size()); ++bin) counts_[bin] += bins[bin];
}

void FloatHistogram::merge(const FloatHistogram& other) {
    // A moved-from histogram has no bins: rows are kept without them.
    for (std::size_t bin = 0; bin < std::min(counts_.size(), other.counts_.size()); ++bin)
        counts_[bin] += other.counts_[bin];
}

std::uint64_t FloatHistogram::total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t(0));
}

double FloatHistogram::absPercentile(double percent) const {
    const double target = std::clamp(percent, 0.0, 100.0) / 100 * double(total());
    double below = 0, last = 0;
    for (std::size_t bin = 0; bin < kNegative; ++bin) {
        const double here = double(counts_[bin] + counts_[kNegative + bin]);
        if (here == 0) continue;
        const double lower = magnitudeLower(bin), upper = magnitudeUpper(bin);
        // The first bin is zero for every purpose: its upper edge is 4e-40. Infinity has no inside.
        last = bin == 0 ? 0 : bin >= kInfinite ? lower : upper;
        if (below + here >= target)
            return bin == 0 || bin >= kInfinite ? lower : lower + (upper - lower) * (target - below) / here;
        below += here;
    }
    return last;
}

double FloatHistogram::minimum() const {
    for (std::size_t bin = kFloatBins; bin-- > kNegative;)
        if (counts_[bin]) return floatBinLower(bin);
    for (std::size_t bin = 0; bin < kNegative; ++bin)
        if (counts_[bin]) return floatBinLower(bin);
    return 0;
}

double FloatHistogram::maximum() const {
    for (std::size_t bin = kNegative; bin-- > 0;)
        if (counts_[bin]) return floatBinUpper(bin);
    for (std::size_t bin = kNegative; bin < kFloatBins; ++bin)
        if (counts_[bin]) return floatBinUpper(bin);
    return 0;
}

FloatHistogram::Linear FloatHistogram::linear(double lo, double hi, int bins) const {
    Linear out;
    out.lo = lo, out.hi = hi;
    out.counts.assign(std::size_t(std::max(1, bins)), 0.0);
    const double width = (hi - lo) / double(out.counts.size());
    for (std::size_t bin = 0; bin < kFloatBins; ++bin) {
        if (counts_[bin] == 0) continue;
        const double mass = double(counts_[bin]), from = floatBinLower(bin), to = floatBinUpper(bin);
        if (std::isinf(from) || std::isinf(to) || !(width > 0)) {
            (to <= lo ? out.below : out.above) += mass;
            continue;
        }
        const double length = to - from;
        const double under = std::clamp((lo - from) / length, 0.0, 1.0),
                     over = std::clamp((to - hi) / length, 0.0, 1.0);
        out.below += mass * under;
        out.above += mass * over;
        const double inFrom = std::max(from, lo), inTo = std::min(to, hi);
        if (inTo <= inFrom) continue;
        const auto cell = [&](double x) { return std::min(out.counts.size() - 1, std::size_t((x - lo) / width)); };
        const std::size_t first = cell(inFrom), last = cell(inTo);
        for (std::size_t i = first; i <= last; ++i) {
            const double left = std::max(inFrom, lo + double(i) * width);
            const double right = i == last ? inTo : std::min(inTo, lo + double(i + 1) * width);
            if (right > left) out.counts[i] += mass * (right - left) / length;
        }
    }
    return out;
}

FloatHistogram::Binned FloatHistogram::binned(std::span<const double> edges) const {
    Binned out;
    out.counts.assign(edges.size() - 1, 0.0);
    const double lo = edges.front(), hi = edges.back();
    for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
        if (counts_[bin] == 0) continue;
        const double mass = double(counts_[bin]), from = floatBinLower(bin), to = floatBinUpper(bin);
        if (std::isinf(from) || std::isinf(to)) {
            (to <= lo ? out.below : out.above) += mass;
            continue;
        }
        const double length = to - from;
        out.below += mass * std::clamp((lo - from) / length, 0.0, 1.0);
        out.above += mass * std::clamp((to - hi) / length, 0.0, 1.0);
        const double inFrom = std::max(from, lo), inTo = std::min(to, hi);
        auto right = std::upper_bound(edges.begin(), edges.end(), inFrom);
        for (double left = inFrom; left < inTo && right != edges.end(); ++right) {
            const double end = std::min(inTo, *right);
            out.counts[std::size_t(right - edges.begin()) - 1] += mass * (end - left) / length;
            left = end;
        }
    }
    return out;
}

} // namespace qs
