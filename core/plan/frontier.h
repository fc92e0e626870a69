// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Size against the least sum of losses, for all budgets at once.

#include "core/plan/mixture.h"

namespace qs::plan {

struct FrontierPoint {
    std::uint64_t bytes = 0; ///< of the whole file
    double loss = 0, error = 0;
};
/// The corners of the lower convex hull, from the smallest file on: at each, no mixture of that size has a smaller loss.
/// Between two of them the best is at most a little above their line. `most`: points at most; the ends are among them.
std::vector<FrontierPoint> frontierOf(const Options& options, std::size_t most = 400);

} // namespace qs::plan
