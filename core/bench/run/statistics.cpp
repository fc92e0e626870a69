// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/statistics.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

SampleSummary ofSorted(const std::vector<double>& sorted) {
    SampleSummary out;
    out.n = sorted.size();
    const std::size_t half = out.n / 2;
    out.median = out.n % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    out.min = sorted.front();
    out.p95 = sorted[std::size_t(std::ceil(0.95 * double(out.n))) - 1];
    if (const auto ranks = medianRanks(out.n)) out.ci = Interval{sorted[ranks->first - 1], sorted[ranks->second - 1]};
    return out;
}

/// The greatest rank k for which the k-th smallest and the k-th largest of n values bound the median with 95 %: at most
/// 2.5 % of the outcomes of n coins have fewer than k heads. 0: none.
std::size_t binomialRank(std::size_t n) {
    double below = 0, ways = std::pow(0.5, double(n)); // below: fewer than `rank` heads; ways: `rank` heads
    for (std::size_t rank = 0; rank <= n; ++rank) {
        below += ways;
        if (below > 0.025) return rank;
        ways *= double(n - rank) / double(rank + 1);
    }
    return n;
}

} // namespace

std::optional<std::pair<std::size_t, std::size_t>> medianRanks(std::size_t n) {
    if (n < kLeastForInterval) return std::nullopt;
    const double half = 1.96 * std::sqrt(double(n));
    const auto low = std::size_t(std::floor((double(n) - half) / 2));
    const auto high = std::size_t(std::ceil(1 + (double(n) + half) / 2));
    return std::pair{std::max<std::size_t>(1, low), std::min(n, high)};
}

std::optional<SampleSummary> summarize(std::span<const double> samples) {
    if (samples.empty()) return std::nullopt;
    std::vector<double> sorted(samples.begin(), samples.end());
    std::ranges::sort(sorted);
    return ofSorted(sorted);
}

std::optional<SampleSummary> summarize(std::span<const std::uint64_t> samples) {
    const std::vector<double> values(samples.begin(), samples.end());
    return summarize(std::span<const double>(values));
}

double medianOf(std::vector<double> values) { return summarize(std::span<const double>(values))->median; }

std::optional<Interval> roundInterval(std::span<const double> roundMedians) {
    std::vector<double> sorted;
    for (const double median : roundMedians)
        if (std::isfinite(median)) sorted.push_back(median);
    if (sorted.size() < kLeastRounds) return std::nullopt;
    std::ranges::sort(sorted);
    const auto at = [&](double share) {
        const double place = share * double(sorted.size() - 1);
        const auto below = std::size_t(place);
        const double above = sorted[std::min(below + 1, sorted.size() - 1)];
        return sorted[below] + (above - sorted[below]) * (place - double(below));
    };
    return Interval{at(0.1), at(0.75)};
}

std::optional<SampleSummary> ratioSummary(std::span<const double> a, std::span<const double> b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        if (a[i] > 0 && b[i] > 0) ratios.push_back(a[i] / b[i]);
    auto out = summarize(std::span<const double>(ratios));
    if (!out || out->ci) return out;
    std::ranges::sort(ratios);
    if (const std::size_t rank = binomialRank(ratios.size()); rank > 0)
        out->ci = Interval{ratios[rank - 1], ratios[ratios.size() - rank]};
    return out;
}

Verdict compareTimes(const std::optional<Interval>& a, const std::optional<Interval>& b) {
    if (!a || !b) return Verdict::NoWinner;
    if (a->high < b->low) return Verdict::Faster;
    return b->high < a->low ? Verdict::Slower : Verdict::NoWinner;
}

} // namespace qs
