// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit/audit_shares.h"

#include "core/base/random.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <vector>

namespace qs {
namespace {

constexpr double kShapes[] = {0.5, 0.7, 0.85, 1, 1.2, 1.5, 1.75, 2, 2.5, 3, 4, 6, 10};
constexpr std::size_t kDrawn = 1 << 16;
constexpr std::uint64_t kLargestBlock = 4096;

/// Random values of one density in blocks that are divided by their scale; ascending.
std::vector<float> drawn(double beta, std::uint64_t block, bool exponents) {
    std::mt19937_64 random(7);
    std::gamma_distribution<double> gamma(1 / beta, 1);
    std::vector<float> values(kDrawn);
    for (float& v : values) v = float(std::pow(gamma(random), 1 / beta) * (random() & 1 ? 1 : -1));
    for (std::size_t begin = 0; begin < values.size(); begin += block) {
        const auto part = std::span(values).subspan(begin, std::min<std::size_t>(block, values.size() - begin));
        float most = 0;
        for (const float v : part) most = std::max(most, std::fabs(v));
        double scale = double(most);
        if (exponents) { // the largest weight is 4 to 8 times the scale, while the levels end at 6
            const double between = double(randomBits(7, 0, begin) >> 11) * 0x1p-53;
            scale *= 6.0 / (4 * std::exp2(between));
        }
        for (float& v : part) v = std::clamp(float(double(v) / scale), -1.0f, 1.0f);
    }
    std::ranges::sort(values);
    return values;
}

const std::vector<std::vector<float>>& draws(std::uint64_t block, bool exponents) {
    static std::mutex lock;
    static std::map<std::pair<std::uint64_t, bool>, std::vector<std::vector<float>>> known;
    const std::lock_guard guard(lock);
    auto& all = known[{block, exponents}];
    if (all.empty())
        for (const double beta : kShapes) all.push_back(drawn(beta, block, exponents));
    return all;
}

} // namespace

double sharesDistance(const Levels& levels, const Shares& shares, std::uint64_t block, bool exponents) {
    constexpr double kNothing = 1e-6; // assumed share of a code that cannot occur
    std::map<double, double> found;   // shares by level, because two codes can have the same level (0 and -0)
    double most = 0, apart = 0;
    for (std::size_t i = 0; i < 16; ++i)
        if (!std::isnan(levels[i]))
            found[levels[i] + 0.0] += shares[i], most = std::max(most, std::fabs(levels[i]));
        else if (shares[i] > 0)
            apart += shares[i] * std::log(shares[i] / kNothing);
    double least = INFINITY;
    for (const auto& values : draws(std::clamp<std::uint64_t>(block, 2, kLargestBlock), exponents)) {
        double sum = 0;
        std::size_t before = 0;
        for (auto at = found.begin(); at != found.end(); ++at) {
            const auto next = std::next(at);
            std::size_t end = values.size();
            if (next != found.end())
                end = std::size_t(
                    std::lower_bound(values.begin(), values.end(), float((at->first + next->first) / 2 / most)) -
                    values.begin());
            const double expected = double(end - before) / double(values.size());
            if (at->second > 0) sum += at->second * std::log(at->second / std::max(expected, kNothing));
            before = end;
        }
        least = std::min(least, sum);
    }
    return std::max(0.0, least + apart);
}

double binomialTail(std::uint64_t trials, std::uint64_t hits, double chance) {
    double tail = 0;
    for (std::uint64_t k = hits; k <= trials; ++k)
        tail += std::exp(std::lgamma(double(trials) + 1) - std::lgamma(double(k) + 1) -
                         std::lgamma(double(trials - k) + 1) + double(k) * std::log(chance) +
                         double(trials - k) * std::log1p(-chance));
    return std::min(1.0, tail);
}

} // namespace qs
