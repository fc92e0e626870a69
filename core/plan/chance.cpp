// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/chance.h"

#include "core/analysis/rank_agreement.h"
#include "core/base/percentile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

namespace qs::plan {
namespace {

/// A whole number below `limit`. The standard's distributions differ between libraries, this does not.
std::size_t below(std::mt19937_64& random, std::size_t limit) { return std::size_t(random() % limit); }

/// Units with equal options: the same specs of the same bytes, and of the same time where that counts.
std::vector<std::vector<std::size_t>> alike(const Options& options, bool byTime) {
    std::map<std::vector<std::tuple<std::size_t, std::uint64_t, std::uint64_t>>, std::vector<std::size_t>> groups;
    for (std::size_t u = 0; u < options.of.size(); ++u) {
        std::vector<std::tuple<std::size_t, std::uint64_t, std::uint64_t>> key;
        for (const UnitOption& option : options.of[u])
            key.emplace_back(option.spec, option.bytes, byTime ? option.ns : 0);
        groups[std::move(key)].push_back(u);
    }
    std::vector<std::vector<std::size_t>> out;
    for (auto& [key, units] : groups) out.push_back(std::move(units));
    return out;
}

/// A walk through mixtures by random changes, none of which leads further away from the size and the time.
class RandomWalk {
public:
    RandomWalk(const Options& options, std::uint64_t size, MostTime mostNs, std::uint64_t seed)
        : options_(options), size_(double(size)), mostNs_(mostNs), random_(seed) {}

    void startAnywhere() {
        std::vector<std::size_t> picked;
        for (std::size_t u = 0; u < options_.of.size(); ++u) picked.push_back(below(random_, options_.of[u].size()));
        startAt(std::move(picked));
    }
    void startAt(std::vector<std::size_t> picked) {
        picked_ = std::move(picked);
        bytes_ = std::int64_t(options_.fixedBytes), ns_ = std::int64_t(options_.fixedNs);
        for (std::size_t u = 0; u < picked_.size(); ++u) add(u, 1);
    }
    /// Whether it has come to a mixture within both.
    bool walk() {
        const std::size_t units = options_.of.size();
        std::size_t within = 0; // changes since it is within both
        for (std::size_t i = 0; i < 2000 * units && within < 20 * units; ++i) {
            const double before = excess();
            within += before == 0;
            const Change first = change();
            // One change that saves time often costs bytes: then a second one must go with it.
            const bool two = mostNs_ && below(random_, 2) != 0;
            const Change second = two ? change() : Change{};
            if (excess() <= before) continue;
            if (two) set(second.unit, second.before);
            set(first.unit, first.before);
        }
        return excess() == 0;
    }
    std::vector<std::size_t> picked() && { return std::move(picked_); }

private:
    struct Change {
        std::size_t unit = 0, before = 0;
    };
    Change change() {
        const std::size_t unit = below(random_, picked_.size()), to = below(random_, options_.of[unit].size());
        const Change out{unit, picked_[unit]};
        set(unit, to);
        return out;
    }
    void set(std::size_t unit, std::size_t to) {
        add(unit, -1);
        picked_[unit] = to;
        add(unit, 1);
    }
    void add(std::size_t unit, std::int64_t sign) {
        const UnitOption option = options_.of[unit][picked_[unit]];
        bytes_ += sign * std::int64_t(option.bytes), ns_ += sign * std::int64_t(option.ns);
    }
    /// How far it is outside of both, relative; 0: it is within.
    double excess() const {
        const double bytes = std::max(0.0, std::abs(double(bytes_) - size_) - kByteTolerance * size_) / size_;
        if (!mostNs_) return bytes;
        const double most = double(*mostNs_);
        return bytes + std::max(0.0, double(ns_) - most) / most;
    }

    const Options& options_;
    double size_;
    MostTime mostNs_;
    std::mt19937_64 random_;
    std::vector<std::size_t> picked_;
    std::int64_t bytes_ = 0, ns_ = 0;
};

double medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    return percentile(values, 0.5);
}

} // namespace

Mixture permutedMixture(const Mixture& plan, const Options& options, std::uint64_t seed, MostTime mostNs) {
    std::mt19937_64 random(seed);
    auto picked = plan.picked;
    for (const auto& units : alike(options, mostNs.has_value()))
        for (std::size_t i = units.size(); i > 1; --i) std::swap(picked[units[i - 1]], picked[units[below(random, i)]]);
    return mixtureOf("permuted " + std::to_string(seed), std::move(picked), options);
}

std::optional<Mixture> randomMixture(const Mixture& plan, const Options& options, std::uint64_t seed, MostTime mostNs) {
    RandomWalk walk(options, plan.bytes, mostNs, seed);
    walk.startAnywhere();
    bool found = walk.walk();
    if (!found && mostNs && plan.picked.size() == options.of.size()) {
        walk.startAt(plan.picked);
        found = walk.walk();
    }
    if (!found) return {};
    return mixtureOf("random " + std::to_string(seed), std::move(walk).picked(), options);
}

std::optional<Chance> againstChance(std::span<const eval::TokenScore> plan,
                                    std::span<const std::vector<eval::TokenScore>> draws) {
    if (draws.empty()) return {};
    // Sums of KL by chunk, of tokens that are finite everywhere. Row 0 is the plan.
    std::map<std::size_t, std::vector<double>> chunks;
    std::map<std::size_t, double> tokens;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        bool finite = plan[i].finite;
        for (const auto& draw : draws) finite = finite && i < draw.size() && draw[i].finite;
        if (!finite) continue;
        auto& sums = chunks[plan[i].chunk];
        sums.resize(draws.size() + 1);
        sums[0] += plan[i].divergence;
        for (std::size_t d = 0; d < draws.size(); ++d) sums[d + 1] += draws[d][i].divergence;
        tokens[plan[i].chunk] += 1;
    }
    if (chunks.empty()) return {};
    std::vector<std::pair<std::vector<double>, double>> rows;
    for (auto& [chunk, sums] : chunks) rows.emplace_back(std::move(sums), tokens[chunk]);
    const auto means = [&](const auto& take) {
        std::vector<double> out(draws.size() + 1);
        double count = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto& [sums, n] = rows[take(i)];
            for (std::size_t d = 0; d < out.size(); ++d) out[d] += sums[d];
            count += n;
        }
        for (double& value : out) value /= count;
        return out;
    };
    const auto effectOf = [](const std::vector<double>& values) {
        return std::log(values[0] / medianOf({values.begin() + 1, values.end()}));
    };
    const auto all = means([](std::size_t i) { return i; });
    Chance out;
    out.draws = draws.size();
    for (std::size_t d = 1; d < all.size(); ++d) out.notWorse += all[d] <= all[0];
    out.rank = double(1 + out.notWorse) / double(draws.size() + 1);
    out.least = *std::min_element(all.begin() + 1, all.end());
    out.largest = *std::max_element(all.begin() + 1, all.end());
    out.median = medianOf({all.begin() + 1, all.end()});
    out.effect = out.low = out.high = effectOf(all);
    std::vector<double> effects;
    std::mt19937_64 random(1);
    for (std::size_t r = 0; r < kResamples; ++r)
        if (const double effect = effectOf(means([&](std::size_t) { return below(random, rows.size()); }));
            std::isfinite(effect))
            effects.push_back(effect);
    std::ranges::sort(effects);
    if (!effects.empty() && rows.size() > 1)
        out.low = percentile(effects, 0.025), out.high = percentile(effects, 0.975);
    else
        out.low = -INFINITY, out.high = INFINITY; // one chunk says nothing of others
    return out;
}

} // namespace qs::plan
