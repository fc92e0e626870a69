// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is said of timing samples: order statistics only, because latencies are skewed and no outlier is dropped.

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
    std::optional<Interval> ci;          ///< 95 % of the median; none below kLeastForInterval samples
};
inline constexpr std::size_t kLeastForInterval = 20;

/// 1-based ranks (n -+ 1.96 sqrt n) / 2 of the sorted samples that bound the median, rounded outwards; none when n
/// < 20.
std::optional<std::pair<std::size_t, std::size_t>> medianRanks(std::size_t n);
/// nullopt when there are no samples.
std::optional<SampleSummary> summarize(std::span<const double> samples);
std::optional<SampleSummary> summarize(std::span<const std::uint64_t> samples);
double medianOf(std::vector<double> values); ///< of at least one value; the mean of the middle two when even

/// Where a run's time lies as long as the machine is as it was: the 10th to the 75th percentile of the medians of its
/// rounds. Neighbours and clocks change over seconds and minutes, so rounds of one run are no independent samples and
/// an interval of their median says nothing about another run; what disturbs only makes slower, hence the upper end.
/// nullopt below kLeastRounds.
std::optional<Interval> roundInterval(std::span<const double> roundMedians);
inline constexpr std::size_t kLeastRounds = 5;

/// Speed-up of b over a: the median of a[i] / b[i] over rounds that have both.
std::optional<SampleSummary> ratioSummary(std::span<const double> a, std::span<const double> b);

enum class Verdict { Faster, Slower, NoWinner };
/// Faster: a's interval lies below b's. Overlapping or missing intervals name no winner.
Verdict compareTimes(const std::optional<Interval>& a, const std::optional<Interval>& b);

} // namespace qs
