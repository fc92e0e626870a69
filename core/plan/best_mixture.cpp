// SPDX-License-Identifier: GPL-3.0-or-later
// The best mixture within a budget of bytes, of time, or of both.
#include "core/plan/mixture.h"
#include "core/plan/two_budgets.h"

#include <fmt/format.h>

namespace qs::plan {
namespace {

/// Fails for the first part of the budget that nothing fits.
Result<void> isPossible(const Options& options, const Budget& budget) {
    const std::uint64_t least = options.leastBytes();
    const double perByte = 8.0 / double(options.elements);
    if (budget.bytes && *budget.bytes < least)
        return fail(
            fmt::format("The budget of {} bytes ({:.4g} bits per weight) is too small: the smallest choices need {} "
                        "bytes ({:.4g} bits per weight).",
                        *budget.bytes, double(*budget.bytes) * perByte, least, double(least) * perByte));
    if (!budget.ns) return {};
    if (!options.latencies) return fail("A budget of time needs measured times.");
    if (const std::uint64_t fastest = options.leastNs(); *budget.ns < fastest)
        return fail(fmt::format("The budget of {} is too small: on {} the fastest choices need {} for M = {}.",
                                timeText(double(*budget.ns)), options.latencies->where.backend,
                                timeText(double(fastest)), options.latencies->m));
    return {};
}

/// Exact, by one cost.
Mixture byOneCost(const Options& options, const ChoiceLists& classes, std::uint64_t budget, std::size_t mostStates) {
    auto found = pickChoices(classes, budget, mostStates);
    Mixture out = mixtureOf("plan", std::move(found->picked), options);
    out.bound = found->bound;
    return out;
}

Result<Mixture> byBoth(const Options& options, const Budget& budget, std::size_t mostStates) {
    std::uint64_t fastest = 0;
    auto found = pickWithinBoth(options.of.byBoth(), *budget.bytes - options.fixedBytes, *budget.ns - options.fixedNs,
                                mostStates, &fastest);
    if (!found)
        return fail(fmt::format("No plan is within both budgets: within {} bytes the fastest choices need {}, and the "
                                "budget is {}.",
                                *budget.bytes, timeText(double(fastest + options.fixedNs)),
                                timeText(double(*budget.ns))));
    Mixture out = mixtureOf("plan", std::move(found->picked), options);
    out.bound = found->bound;
    return out;
}

} // namespace

Result<Mixture> bestMixture(const Options& options, const Budget& budget, std::size_t mostStates) {
    if (auto possible = isPossible(options, budget); !possible) return tl::unexpected(possible.error());
    // A part that everything fits decides nothing.
    const bool bySize = budget.bytes && *budget.bytes < options.mostBytes();
    const bool byTime = budget.ns && *budget.ns < options.mostNs();
    if (bySize && byTime) return byBoth(options, budget, mostStates);
    if (byTime) return byOneCost(options, options.of.byTime(), *budget.ns - options.fixedNs, mostStates);
    const std::uint64_t bytes = bySize ? *budget.bytes : options.mostBytes();
    return byOneCost(options, options.of.byBytes(), bytes - options.fixedBytes, mostStates);
}

bool isWithin(const Mixture& mixture, const Budget& budget) {
    return (!budget.bytes || mixture.bytes <= *budget.bytes) && (!budget.ns || mixture.ns <= *budget.ns);
}

} // namespace qs::plan
