// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Statistics of timing samples. Order statistics only, because latencies are skewed and no outlier is dropped.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace qs {

struct Interval {
    double low = 0, high = 0;
    bool operator==(const Interval&) const = default;
};

struct SampleSummary {
    std::size_t n = 0;
    double median = 0, min = 0, p95 = 0; ///< p95: nearest rank
    /// 95 % interval of the median; none for fewer than kLeastForInterval samples
    std::optional<Interval> ci;
};
inline constexpr std::size_t kLeastForInterval = 20;

/// The 1-based ranks (n -+ 1.96 sqrt n) / 2 of the sorted samples that bound the median, rounded outwards; none if n <
/// 20.
std::optional<std::pair<std::size_t, std::size_t>> medianRanks(std::size_t n);
/// nullopt if there are no samples.
std::optional<SampleSummary> summarize(std::span<const double> samples);
std::optional<SampleSummary> summarize(std::span<const std::uint64_t> samples);
/// of at least one value; of an even number, the mean of the middle two
double medianOf(std::vector<double> values);

/// The range of a run's time while the machine does not change: the 10th to the 75th percentile of the medians of
/// rounds. Load and clocks change over seconds and minutes, so that rounds are not independent samples, and an interval
/// of their median says nothing about another run. Disturbances only make runs slower, hence the upper end. nullopt for
/// fewer than kLeastRounds.
std::optional<Interval> roundInterval(std::span<const double> roundMedians);
inline constexpr std::size_t kLeastRounds = 5;

/// Speed-up of b over a: the median of a[i] / b[i] over rounds that have both. Its interval is that of the ratios; below
/// kLeastForInterval rounds by the binomial distribution, from 6 on: fewer cannot bound a median with 95 %.
std::optional<SampleSummary> ratioSummary(std::span<const double> a, std::span<const double> b);

enum class Verdict { Faster, Slower, NoWinner };
/// Faster: the interval of a is below that of b. Without two disjoint intervals there is no winner.
Verdict compareTimes(const std::optional<Interval>& a, const std::optional<Interval>& b);

} // namespace qs
