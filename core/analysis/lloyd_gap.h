// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares the codebook of a row with the best codebook of its size, and with the limit for any code of its rate. Both
// are about W / scale under the scales of the row. They come from its histogram, whose bins are 1/32 wide; of a tensor of
// few values the best codebook comes from the values themselves, and no codebook of its size is better.

#include "core/analysis/analysis.h"
#include "core/quant/codebook/density.h"

namespace qs {

/// The density of W / scale. If no value can lie beyond the outermost level, values that the histogram has there are
/// moved to that level.
Density scaledDensity(const TensorAnalysis& row);

struct LloydGap {
    CodebookFit fit;          ///< the row's levels and boundaries
    std::vector<double> best; ///< levels of the best codebook of the same size
    double bestDb = 0;        ///< its signal to noise
    double boundDb = 0;       ///< Shannon's lower bound at log2(levels) bits
    double gapDb() const { return bestDb - fit.sqnrDb(); }
};
/// Nullopt if decision boundaries differ between groups, if there is no error, or if there are no values.
std::optional<LloydGap> lloydGap(const TensorAnalysis& row, const Density& density);

} // namespace qs
