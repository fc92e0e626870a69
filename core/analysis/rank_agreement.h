// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Whether one figure ranks things as another one does: Kendall's tau-b (M. G. Kendall, The treatment of ties in ranking
// problems, Biometrika 33, 1945).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace qs {

struct RankAgreement {
    std::size_t items = 0; ///< that have both figures
    /// (concordant - discordant pairs) / sqrt(pairs that differ in x * pairs that differ in y): 1: same order; 0: none;
    /// -1: the reverse. Found in O(n log n).
    double tau = 0;
    double low = -1, high = 1; ///< 95 % interval: percentiles of tau over kResamples samples of the items
};
constexpr std::size_t kResamples = 1000, kLeastItems = 4;
constexpr std::uint64_t kResamplingSeed = 20;

/// NaN: not measured, and left out. The samples come from a fixed seed. None below kLeastItems items, or where one of
/// the figures is the same for all.
std::optional<RankAgreement> rankAgreement(std::span<const double> proxy, std::span<const double> measured);

/// Items whose order against the others the proxy has wrong most often.
struct Misjudged {
    std::size_t item = 0;
    double share = 0;     ///< share of wrong pairs among its pairs that differ in both figures
    bool tooHigh = false; ///< true: the proxy mostly ranks it too high
};
/// The worst first, at most `most`; those with a share of 1/4 and more. NaN as above. Looks at all pairs.
std::vector<Misjudged> misjudged(std::span<const double> proxy, std::span<const double> measured, std::size_t most);

} // namespace qs
