// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Times contenders in turns in one cache state, compares them with the baseline and with the roofs.

#include "core/bench/run/group.h"

namespace qs {

/// A row for each of `all`. `whyNoBaseline`: why there is no f32 product to compare with, unless it is among `all`.
Result<std::vector<BenchmarkRow>> timeBatch(BenchState& state, const BenchOp& op, const BenchShape& shape,
                                            const std::vector<Contender*>& all, CacheState cache,
                                            const std::string& whyNoBaseline);

} // namespace qs
