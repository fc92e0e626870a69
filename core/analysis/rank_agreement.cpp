// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/rank_agreement.h"

#include "core/base/percentile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace qs {
namespace {

using Pairs = std::vector<std::pair<double, double>>;

double pairsOf(std::uint64_t n) { return double(n) * (double(n) - 1) / 2; }

/// Sum of pairsOf() over runs of equal neighbours.
template<class Same> double tiedPairs(const Pairs& sorted, Same same) {
    double ties = 0;
    for (std::size_t begin = 0, i = 1; i <= sorted.size(); ++i)
        if (i == sorted.size() || !same(sorted[begin], sorted[i])) ties += pairsOf(i - begin), begin = i;
    return ties;
}

/// Sorts by y and counts the pairs that stand the wrong way round (merge sort).
double inversions(Pairs& pairs, Pairs& room, std::size_t begin, std::size_t end) {
    if (end - begin < 2) return 0;
    const std::size_t middle = begin + (end - begin) / 2;
    double count = inversions(pairs, room, begin, middle) + inversions(pairs, room, middle, end);
    for (std::size_t left = begin, right = middle, out = begin; out < end; ++out) {
        const bool takeRight = left == middle || (right < end && pairs[right].second < pairs[left].second);
        if (takeRight) count += double(middle - left);
        room[out] = pairs[takeRight ? right++ : left++];
    }
    std::copy(room.begin() + std::ptrdiff_t(begin), room.begin() + std::ptrdiff_t(end),
              pairs.begin() + std::ptrdiff_t(begin));
    return count;
}

/// Reorders its argument.
std::optional<double> tauOf(Pairs& pairs, Pairs& room) {
    std::ranges::sort(pairs);
    const double all = pairsOf(pairs.size());
    const double tiedX = tiedPairs(pairs, [](const auto& a, const auto& b) { return a.first == b.first; });
    const double tiedBoth = tiedPairs(pairs, [](const auto& a, const auto& b) { return a == b; });
    room.resize(pairs.size());
    const double discordant = inversions(pairs, room, 0, pairs.size());
    const double tiedY = tiedPairs(pairs, [](const auto& a, const auto& b) { return a.second == b.second; });
    const double scale = std::sqrt((all - tiedX) * (all - tiedY));
    if (!(scale > 0)) return {};
    return std::clamp((all - tiedX - tiedY + tiedBoth - 2 * discordant) / scale, -1.0, 1.0);
}

/// SplitMix64 (S. Vigna): the same numbers everywhere.
class Random {
public:
    std::size_t below(std::size_t n) {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return std::size_t((z ^ (z >> 31)) % n); // n is small: the bias is below 1e-15
    }

private:
    std::uint64_t state_ = kResamplingSeed;
};

Pairs measuredPairs(std::span<const double> proxy, std::span<const double> measured) {
    Pairs out;
    for (std::size_t i = 0; i < proxy.size(); ++i)
        if (std::isfinite(proxy[i]) && std::isfinite(measured[i])) out.emplace_back(proxy[i], measured[i]);
    return out;
}

} // namespace

std::optional<RankAgreement> rankAgreement(std::span<const double> proxy, std::span<const double> measured) {
    const Pairs all = measuredPairs(proxy, measured);
    if (all.size() < kLeastItems) return {};
    Pairs pairs = all, room;
    const auto tau = tauOf(pairs, room);
    if (!tau) return {};
    RankAgreement out{all.size(), *tau, -1, 1};
    Random random;
    std::vector<double> taus;
    for (std::size_t sample = 0; sample < kResamples; ++sample) {
        for (auto& pair : pairs) pair = all[random.below(all.size())];
        if (const auto one = tauOf(pairs, room)) taus.push_back(*one); // a sample of equal items has none
    }
    if (taus.size() < kResamples / 2) return out;
    std::ranges::sort(taus);
    out.low = percentile(taus, 0.025), out.high = percentile(taus, 0.975);
    return out;
}

std::vector<Misjudged> misjudged(std::span<const double> proxy, std::span<const double> measured, std::size_t most) {
    std::vector<Misjudged> out;
    for (std::size_t i = 0; i < proxy.size(); ++i) {
        if (!std::isfinite(proxy[i]) || !std::isfinite(measured[i])) continue;
        std::size_t pairs = 0, above = 0, below = 0; // wrong pairs in which the proxy has it above, below
        for (std::size_t j = 0; j < proxy.size(); ++j) {
            const double dx = proxy[i] - proxy[j], dy = measured[i] - measured[j];
            if (!std::isfinite(dx) || !std::isfinite(dy) || dx == 0 || dy == 0) continue;
            ++pairs;
            if (dx > 0 && dy < 0) ++above;
            if (dx < 0 && dy > 0) ++below;
        }
        if (pairs > 0 && 4 * (above + below) >= pairs)
            out.push_back({i, double(above + below) / double(pairs), above > below});
    }
    std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.share > b.share; });
    if (out.size() > most) out.resize(most);
    return out;
}

} // namespace qs
