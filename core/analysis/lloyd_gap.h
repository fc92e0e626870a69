// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares the codebook of a row with the best codebook of its size, and with the limit for any code of its rate. Both
// are about W / scale under the scales of the row. They come from its histogram, whose bins are 1/32 wide, or from
// few values themselves.

#include "core/analysis/analysis.h"
#include "core/quant/codebook/density.h"
#include "core/quant/codebook/learn.h"
#include "core/quant/encode/encode_plan.h"

namespace qs {

/// The density of W / scale. If no value can lie beyond the outermost level, values that the histogram has there are
/// moved to that level.
Density scaledDensity(const TensorAnalysis& row);

/// A tensor with fewer values has its own values for a density: a histogram would hide what a codebook can gain by fitting
/// single values (0.1 to 0.3 dB with 1,000 values and 16 levels).
inline constexpr std::uint64_t kFewValues = 4096;
/// The values of W / scale themselves, each an atom. `learned`: see AnalysisOptions::levels.
Result<Density> exactDensity(const TensorView& view, const SharedPlan& plan,
                             std::shared_ptr<const LearnedLevels> learned, const Job& job);

struct LloydGap {
    CodebookFit fit;          ///< the row's levels and boundaries
    std::vector<double> best; ///< levels of the Lloyd-Max codebook of the same size
    double bestDb = 0;        ///< its signal to noise
    double boundDb = 0;       ///< Shannon's lower bound at log2(levels) bits
    double gapDb() const { return bestDb - fit.sqnrDb(); }
};
/// Nullopt if decision boundaries differ between groups, if there is no error, or if there are no values.
std::optional<LloydGap> lloydGap(const TensorAnalysis& row, const Density& density);

} // namespace qs
