// SPDX-License-Identifier: GPL-3.0-or-later
// Detects tensors whose nibbles were unpacked in the wrong order.
//
// A channel of a model is large or small in all tensors that read or write it. These are columns of matrices of one
// size, rows of the matrices that write them, and vectors that scale them. If a tensor follows the others only after
// its columns or rows are reordered as nibbles would be, its nibbles were unpacked in another order.
//
// A profile is the logarithm of the RMS of columns, rows or elements, minus the mean of each block of 32, converted to
// ranks. For two independent profiles, r sqrt(n) is nearly normal with variance 1, for any distribution (Spearman). The
// evidence for an order o against the present order is a sum over the three kinds of profiles of the other tensors. Its
// terms are log-likelihood ratios of two correlated normal variables, n / 2 ln((1 - r^2) / (1 - r_o^2)). By chance, the
// largest of m such sums exceeds x with a probability of at most about m exp(-x). Here m counts tensors, axes and
// orders, and x is chosen so that the probability is 1e-6.
#include "core/analysis/audit/audit_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace qs {
namespace {

constexpr std::size_t kBlock = 32;
constexpr double kByChance = 1e-6;
constexpr double kLeast = 0.3; ///< least rank correlation to report; a weaker one is not visible to users

using Profile = std::vector<double>;

/// Ranks, scaled to mean 0 and a sum of squares of 1. Empty if the profile is too short or constant.
Profile profileOf(const std::vector<float>& rms) {
    if (rms.size() < 64 || rms.size() % kBlock != 0) return {};
    Profile logs(rms.size());
    for (std::size_t begin = 0; begin < rms.size(); begin += kBlock) {
        double mean = 0;
        for (std::size_t i = begin; i < begin + kBlock; ++i) {
            if (!(rms[i] > 0)) return {};
            logs[i] = std::log(double(rms[i]));
            mean += logs[i] / kBlock;
        }
        for (std::size_t i = begin; i < begin + kBlock; ++i) logs[i] -= mean;
    }
    std::vector<std::size_t> by(logs.size());
    std::iota(by.begin(), by.end(), std::size_t(0));
    std::ranges::sort(by, [&](std::size_t a, std::size_t b) { return logs[a] < logs[b]; });
    if (logs[by.back()] - logs[by.front()] < 1e-6) return {}; // all values are equal
    Profile out(rms.size());
    const double n = double(out.size()), scale = std::sqrt(12 / (n * (n * n - 1)));
    for (std::size_t at = 0; at < by.size(); ++at) out[by[at]] = (double(at) - (n - 1) / 2) * scale;
    return out;
}

enum Kind { OfColumns, OfRows, OfVectors, Kinds };
constexpr Kind kKinds[] = {OfColumns, OfRows, OfVectors};

/// A reordering of blocks of 32: position i takes the channel from[i].
struct Order {
    Kind axis;
    const char* what;
    std::array<std::size_t, kBlock> from;
};

const std::vector<Order>& orders() {
    static const auto all = [] {
        constexpr std::size_t kAwq[] = {0, 2, 4, 6, 1, 3, 5, 7};
        std::vector<Order> out{{OfColumns, "columns 2j and 2j + 1 change places", {}},
                               {OfColumns, "the halves of every 32 columns are interleaved", {}},
                               {OfColumns, "every 32 columns are parted into even and odd ones", {}},
                               {OfRows, "every 8 rows are taken in AWQ's order 0 2 4 6 1 3 5 7", {}},
                               {OfRows, "AWQ's order 0 2 4 6 1 3 5 7 of every 8 rows is undone", {}}};
        for (std::size_t i = 0; i < kBlock; ++i) {
            out[0].from[i] = i ^ 1;
            out[1].from[i] = i / 2 + (i % 2) * (kBlock / 2);
            out[2].from[i] = i < kBlock / 2 ? 2 * i : 2 * (i - kBlock / 2) + 1;
            out[3].from[i] = i / 8 * 8 + kAwq[i % 8];
            out[4].from[i / 8 * 8 + kAwq[i % 8]] = i;
        }
        return out;
    }();
    return all;
}

/// A tensor, and its profile along one axis.
struct Member {
    const TensorFacts* facts;
    Kind kind;
    Profile profile;
};

/// Rank correlation of a member with all other members of a kind. `sum`: sum of all profiles of the kind. `order`:
/// applied to the member first; null: none.
double correlation(const Member& member, Kind kind, const Profile& sum, const Order* order) {
    double product = 0, squares = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const double other = sum[i] - (member.kind == kind ? member.profile[i] : 0.0);
        const std::size_t from = order ? i / kBlock * kBlock + order->from[i % kBlock] : i;
        product += member.profile[from] * other, squares += other * other;
    }
    return squares > 1e-12 ? product / std::sqrt(squares) : 0;
}

} // namespace

void findColumnOrder(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    std::map<std::size_t, std::vector<Member>> bySize;
    std::size_t tried = audited.matricesLeftOut * orders().size();
    const auto add = [&](const TensorFacts& facts, Kind kind, const std::vector<float>& rms) {
        if (auto profile = profileOf(rms); !profile.empty())
            bySize[rms.size()].push_back({&facts, kind, std::move(profile)});
    };
    for (const TensorFacts& facts : audited.tensors) {
        const auto rank = facts.info->shape.size();
        if (rank == 1) add(facts, OfVectors, facts.columnRms);
        if (rank != 2) continue;
        if (facts.rows >= 16) add(facts, OfColumns, facts.columnRms);
        if (facts.columns >= 16) add(facts, OfRows, facts.rowRms);
        tried += orders().size();
    }
    const double enough = std::log(std::max<double>(1, double(tried)) / kByChance);
    for (const auto& [size, members] : bySize) {
        std::array<Profile, Kinds> sums;
        for (auto& sum : sums) sum.assign(size, 0.0);
        for (const Member& member : members)
            for (std::size_t i = 0; i < size; ++i) sums[member.kind][i] += member.profile[i];
        const double n = double(size - size / kBlock);
        for (const Member& member : members) {
            if (member.kind == OfVectors) continue;
            std::array<double, Kinds> asIs{};
            for (const Kind kind : kKinds) asIs[kind] = correlation(member, kind, sums[kind], nullptr);
            const Order* best = nullptr;
            double most = enough, bestIs = 0, bestThen = 0;
            for (const Order& order : orders()) {
                if (order.axis != member.kind) continue;
                double evidence = 0, is = 0, then = 0;
                for (const Kind kind : kKinds) {
                    const double r = correlation(member, kind, sums[kind], &order);
                    evidence +=
                        n / 2 * std::log((1 - std::min(asIs[kind] * asIs[kind], 0.999)) / (1 - std::min(r * r, 0.999)));
                    if (std::fabs(r) > std::fabs(then)) then = r, is = asIs[kind];
                }
                if (evidence > most && std::fabs(then) > kLeast)
                    best = &order, most = evidence, bestIs = is, bestThen = then;
            }
            if (!best) continue;
            out.push_back({&self, member.facts->info->name,
                           fmt::format("its {} follow {} other tensors with a rank correlation of {:.2f}, and of "
                                       "{:.2f} when {}",
                                       member.kind == OfRows ? "rows" : "columns", members.size() - 1, bestIs, bestThen,
                                       best->what)});
        }
    }
}

} // namespace qs
