// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The knapsack of knapsack.h with a second cost and a second budget. The second one is relaxed: with a price for a
// nanosecond the problem is a knapsack again, which is solved exactly, and the price that gives the greatest bound is
// found (M. Fisher, The Lagrangian relaxation method for solving integer programming problems, 1981). What is left
// between that bound and the best selection within both budgets is the gap. It is seldom 0.

#include "core/plan/knapsack.h"

namespace qs::plan {

struct TimedChoiceLists : ChoiceLists {
    std::span<const std::uint64_t> ns; ///< of each choice
};

struct TimedSelection : Selection {
    std::uint64_t ns = 0; ///< sum over the classes, at most the budget
    double lossPerNs = 0; ///< the price of a nanosecond that gave the bound; 0: the second budget takes nothing
};

/// None if no selection within both budgets was found. `fastest` then gets the least time within the bytes that is
/// known to be possible; untouched if there is none. `mostStates`: of each knapsack.
std::optional<TimedSelection> pickWithinBoth(const TimedChoiceLists& classes, std::uint64_t bytes, std::uint64_t ns,
                                             std::size_t mostStates, std::uint64_t* fastest = nullptr);

} // namespace qs::plan
