// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of rules by which people mix two specs without measuring: which matrices get the better one.

#include "core/plan/mixture.h"

namespace qs::plan {

/// Where a unit is in its network.
struct UnitPlace {
    int layer = -1; ///< -1: in no layer, or in several
    int layers = 0; ///< of the network
    std::string role;
    bool isHead = false; ///< the output head, or the embedding that is tied to it
};

struct Heuristic {
    const char* id;
    const char* title;
    const char* summary; ///< one sentence, with its source
    bool (*getsMore)(const UnitPlace& place);
};
std::span<const Heuristic> heuristics();

/// The rule with two neighbouring specs, the largest that stay within the budget. None where not
/// even the smallest do.
std::optional<Mixture> heuristicMixture(const Heuristic& rule, const Options& options, const Budget& budget);
/// Every spec everywhere that stays within the budget, the largest first.
std::vector<Mixture> uniformMixtures(const Options& options, const Budget& budget);

} // namespace qs::plan
