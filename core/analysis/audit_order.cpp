// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that read the same vector have large and small columns in the same places. Where one follows the others only
// after its columns were exchanged, its nibbles were unpacked in another order.
#include "core/analysis/audit_checks.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

constexpr std::size_t kBlock = 32;

using Profile = std::vector<double>;

/// log of the columns' RMS, without the mean of every 32 and scaled to one: what is shared is where, not how much.
/// Empty: there is nothing to compare.
Profile profileOf(const TensorFacts& facts) {
    const auto& rms = facts.columnRms;
    if (rms.size() < 64 || rms.size() % kBlock != 0) return {};
    Profile out(rms.size());
    double squares = 0;
    for (std::size_t begin = 0; begin < rms.size(); begin += kBlock) {
        double mean = 0;
        for (std::size_t i = begin; i < begin + kBlock; ++i) {
            if (!(rms[i] > 0)) return {};
            out[i] = std::log(double(rms[i]));
            mean += out[i] / kBlock;
        }
        for (std::size_t i = begin; i < begin + kBlock; ++i) out[i] -= mean, squares += out[i] * out[i];
    }
    if (!(squares > 0)) return {};
    for (double& v : out) v /= std::sqrt(squares);
    return out;
}

struct Order {
    const char* what;
    std::size_t (*from)(std::size_t i); ///< within a block of 32
};
constexpr Order kOrders[] = {
    {"columns 2j and 2j + 1 change places", [](std::size_t i) { return i ^ 1; }},
    {"the halves of every 32 columns are interleaved", [](std::size_t i) { return i / 2 + (i % 2) * (kBlock / 2); }},
    {"every 32 columns are parted into even and odd ones",
     [](std::size_t i) { return i < kBlock / 2 ? 2 * i : 2 * (i - kBlock / 2) + 1; }},
};

double correlation(const Profile& a, const Profile& b, std::size_t (*from)(std::size_t)) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::size_t j = from ? i / kBlock * kBlock + from(i % kBlock) : i;
        sum += a[j] * b[i], squares += b[i] * b[i];
    }
    return squares > 0 ? sum / std::sqrt(squares) : 0;
}

} // namespace

void findColumnOrder(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    struct Member {
        const TensorFacts* facts;
        Profile profile;
    };
    std::map<std::int64_t, std::vector<Member>> bySize;
    for (const TensorFacts& facts : audited.tensors)
        if (facts.info->shape.size() == 2 && facts.rows >= 16)
            if (auto profile = profileOf(facts); !profile.empty())
                bySize[facts.columns].push_back({&facts, std::move(profile)});
    for (const auto& [columns, members] : bySize) {
        Profile all(std::size_t(columns), 0.0);
        for (const Member& member : members)
            for (std::size_t i = 0; i < all.size(); ++i) all[i] += member.profile[i];
        const double root = std::sqrt(double(columns));
        for (const Member& member : members) {
            Profile others = all;
            for (std::size_t i = 0; i < others.size(); ++i) others[i] -= member.profile[i];
            const double asIs = correlation(member.profile, others, nullptr);
            for (const Order& order : kOrders) {
                const double then = correlation(member.profile, others, order.from);
                if (then > 0.3 && then * root > 6 && then > asIs + 0.3)
                    out.push_back({&self, member.facts->info->name,
                                   fmt::format("its columns follow those of {} other tensors with a correlation of "
                                               "{:.2f}, and of {:.2f} when {}",
                                               members.size() - 1, asIs, then, order.what)});
            }
        }
    }
}

} // namespace qs
