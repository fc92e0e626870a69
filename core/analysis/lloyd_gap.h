// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A row's codebook against the best one of its size, and against what no code of its rate can pass. Both are about
// W / scale, under the row's scales, from its histogram of 1/32-wide bins.

#include "core/analysis/analysis.h"
#include "core/quant/codebook/density.h"

namespace qs {

/// W / scale as a density. Where no value can lie beyond the outermost level, what the histogram has there lies on it.
Density scaledDensity(const TensorAnalysis& row);

struct LloydGap {
    CodebookFit fit;           ///< the row's levels and boundaries
    std::vector<double> best;  ///< Lloyd-Max of as many levels
    double bestDb = 0;         ///< its signal to noise
    double boundDb = 0;        ///< Shannon's lower bound at log2(levels) bits
    double entropyBoundDb = 0; ///< the same at the entropy of the codes
    double gapDb() const { return bestDb - fit.sqnrDb(); }
};
/// nullopt where boundaries differ from group to group, nothing is lost, or there is nothing to lose.
std::optional<LloydGap> lloydGap(const TensorAnalysis& row, const Density& density);

} // namespace qs
