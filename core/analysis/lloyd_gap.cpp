// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/lloyd_gap.h"

#include "core/analysis/forensics/forensics.h"
#include "core/base/parallel.h"
#include "core/quant/encode/block_encoder.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

constexpr int kRounds = 200;
constexpr std::size_t kMany = 64;    ///< levels, for which starting a thread takes less than the iteration
constexpr std::uint64_t kFew = 4096; ///< elements, for which it takes more
constexpr double kLeastGain = 1e-6;  ///< relative saving of a round, 4e-6 dB

/// The values themselves, an atom each; empty: they are not known.
Density atomsOf(const TensorAnalysis& row) {
    std::vector<DensityCell> cells;
    for (const float value : row.distribution ? row.distribution->few : std::vector<float>()) {
        if (cells.empty() || cells.back().lo != double(value)) cells.push_back({double(value), double(value), 0});
        ++cells.back().mass;
    }
    return Density(std::move(cells));
}

/// A codebook that no other of its size is better than; of many values one that no small move makes better.
CodebookFit bestFit(const TensorAnalysis& row, const Density& density, const std::vector<double>& levels,
                    bool isOfAtoms) {
    if (isOfAtoms) return fitOf(density, bestLevelsOfAtoms(density, levels.size()));
    // From where the levels are, too: it cannot end worse than it begins.
    std::vector<double> found[] = {compandedLevels(density, levels.size()), levels};
    const auto iterate = [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i)
            found[i] = lloydMax(density, std::move(found[i]), kRounds, kLeastGain);
    };
    if (levels.size() < kMany || row.elements < kFew)
        iterate(0, 2, 0);
    else
        parallelFor(2, 1, iterate);
    CodebookFit a = fitOf(density, found[0]), b = fitOf(density, found[1]);
    return a.mse <= b.mse ? a : b;
}

} // namespace

Density scaledDensity(const TensorAnalysis& row) {
    const auto& counts = row.values().counts();
    double top = std::numeric_limits<double>::infinity();
    const double bin = 1 + 1.0 / 32 + 1e-6;
    if (!row.levels.empty() && row.sums.clipped == 0) {
        const double most = std::max(std::fabs(double(row.levels.front())), std::fabs(double(row.levels.back())));
        if (row.values().maximum() <= most * bin && row.values().minimum() >= -most * bin) top = most;
    }
    std::vector<DensityCell> cells;
    const auto add = [&](std::size_t index) {
        if (counts[index] == 0) return;
        double lo = floatBinLower(index), hi = floatBinUpper(index);
        if (std::isinf(lo) || std::isinf(hi)) return;
        if (lo >= top * 0.99999) lo = hi = top;
        if (hi <= -top * 0.99999) lo = hi = -top;
        lo = std::clamp(lo, -top, top), hi = std::clamp(hi, -top, top);
        cells.push_back({lo, hi, double(counts[index])});
    };
    for (std::size_t index = kFloatBins; index-- > kFloatBins / 2;) add(index);
    for (std::size_t index = 0; index < kFloatBins / 2; ++index) add(index);
    return Density(std::move(cells));
}

std::optional<LloydGap> lloydGap(const TensorAnalysis& row, const Density& density) {
    const bool ownGroups = codecOf(row.spec) != nullptr; // with offsets beside the scales
    if (row.status != Status::Ok || row.levels.size() < 2 || density.empty() || !(row.sums.se2 > 0) || ownGroups)
        return std::nullopt;
    std::vector<double> boundaries;
    for (const CodebookRow& code : codebookView(row).rows) {
        if (std::isnan(code.upper)) return std::nullopt;
        if (std::isfinite(code.upper)) boundaries.push_back(code.upper);
    }
    const std::vector<double> levels(row.levels.begin(), row.levels.end());
    if (boundaries.size() + 1 != levels.size()) return std::nullopt;
    const Density atoms = atomsOf(row);
    const Density& exact = atoms.empty() ? density : atoms;
    LloydGap out;
    out.fit = fitOf(exact, levels, boundaries);
    if (!(out.fit.mse > 0) || !(out.fit.power > 0)) return std::nullopt;
    CodebookFit least = bestFit(row, exact, levels, !atoms.empty());
    if (!(least.mse > 0)) return std::nullopt;
    out.best = std::move(least.levels);
    out.bestDb = least.sqnrDb();
    const double atom = std::max(std::fabs(density.lowest()), std::fabs(density.highest())) / 64;
    out.boundDb = shannonBoundDb(density, std::log2(double(levels.size())), atom);
    return out;
}

} // namespace qs
