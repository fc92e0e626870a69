// SPDX-License-Identifier: GPL-3.0-or-later
// KL grows about linearly with the relative squared error of a layer's weights (HIGGS, arXiv 2411.17525). Noise of known
// size gives the slope; the slope times a spec's nmse predicts its KL.
#include "core/eval/sensitivity/measures.h"
#include "core/eval/sensitivity/noise.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

/// ||V - W||^2 / ||W||^2 of the noise: about that of 5-bit and of 4-bit formats.
constexpr double kNoise[] = {0.0025, 0.01};
constexpr std::size_t kLevels = std::size(kNoise);

Branch noisyUnit(const SensitivityRun& run, const Unit& unit, double nmse) {
    WeightChange change = withNoise(nmse);
    std::string key = change.detail;
    std::set<const TensorInfo*> tensors;
    for (const LayerMatrix& matrix : unit.matrices) key += "\n" + matrix.tensor->name, tensors.insert(matrix.tensor);
    change.touches = [tensors](const TensorInfo& tensor) { return tensors.contains(&tensor); };
    std::string name = unit.name + " with " + change.name;
    return run.withOutside({std::move(change), unit.layers(), std::move(key), std::move(name)}, unit);
}

/// The fit through 0: sum x y / sum x^2 with x the noise and y the KL. It is a mean over tokens, with an error by chunk.
void fitSlope(SensitivityRow& row, const std::vector<BranchResult>& levels) {
    double squares = 0;
    std::vector<const RunScores*> runs;
    std::vector<double> factors;
    for (const double x : kNoise) squares += x * x;
    for (std::size_t i = 0; i < kLevels; ++i) {
        if (row.reason.empty()) row.reason = levels[i].reason;
        row.tokens = tokensOf(levels[i].scores);
        row.notFinite = std::max(row.notFinite, notFiniteOf(levels[i].scores));
        runs.push_back(&levels[i].scores), factors.push_back(kNoise[i] / squares);
    }
    if (!row.reason.empty()) return;
    row.slope = combined(runs, factors);
    if (!row.slope) row.reason = "Some logits are not finite, so the levels of noise are not paired.";
    const auto small = divergenceOf(levels.front().scores), large = divergenceOf(levels.back().scores);
    if (small && large && small->mean > 0) row.bend = large->mean / kNoise[kLevels - 1] / (small->mean / kNoise[0]);
}

Estimate scaled(const Estimate& estimate, double factor) {
    Estimate out{estimate.mean * factor, {}, {}};
    if (estimate.byChunk) out.byChunk = *estimate.byChunk * factor;
    return out;
}

} // namespace

Result<void> measureSlope(SensitivityRun& run, const Job& job) {
    const auto& specs = run.plan().specs;
    std::vector<Branch> branches;
    for (const Unit& unit : run.units())
        for (const double noise : kNoise) branches.push_back(noisyUnit(run, unit, noise));
    std::vector<std::vector<BranchResult>> results(run.units().size(), std::vector<BranchResult>(kLevels));
    std::vector<std::size_t> known(run.units().size());
    std::vector<std::vector<std::optional<double>>> predictions(specs.size(),
                                                                std::vector<std::optional<double>>(run.units().size()));
    /// The NMSE of the unit under each spec. Known with the unit's last level of noise, so that one process computes it.
    std::vector<std::vector<Result<std::optional<double>>>> errors(run.units().size());
    const auto finish = [&](std::size_t u) {
        SensitivityRow row = run.rowOf(run.units()[u], nullptr);
        fitSlope(row, results[u]);
        if (specs.empty()) run.put(u, 0, row);
        for (std::size_t s = 0; s < specs.size(); ++s) {
            SensitivityRow predicted = row;
            const SensitivityRow named = run.rowOf(run.units()[u], &specs[s]);
            predicted.spec = named.spec, predicted.size = named.size, predicted.isKept = named.isKept;
            if (const auto& nmse = errors[u][s])
                predicted.nmse = *nmse;
            else
                predicted.reason = nmse.error().sentence();
            if (row.slope && predicted.nmse) predicted.predicted = scaled(*row.slope, *predicted.nmse);
            if (predicted.predicted) predictions[s][u] = predicted.predicted->mean;
            run.put(u, s, std::move(predicted));
        }
    };
    const auto done = [&](std::size_t i, const BranchResult& result) -> Result<void> {
        const std::size_t u = i / kLevels;
        results[u][i % kLevels] = result;
        for (std::size_t s = 0; i % kLevels + 1 == kLevels && s < specs.size(); ++s) {
            errors[u].push_back(run.nmseOf(run.units()[u], specs[s], job));
            if (!errors[u].back() && errors[u].back().error().cancelled) return cancelledError();
        }
        if (++known[u] == kLevels) finish(u);
        return {};
    };
    if (auto all = run.score(nullptr, std::move(branches), done, job); !all) return all;
    std::vector<UnitSum> sums(specs.size());
    for (std::size_t s = 0; s < specs.size(); ++s)
        for (const auto& one : predictions[s])
            if (one) sums[s].sum += *one, ++sums[s].units;
    return addAdditivity(run, sums, false, job);
}

} // namespace qs::eval
