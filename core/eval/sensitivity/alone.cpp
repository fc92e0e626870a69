// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/measures.h"

namespace qs::eval {

void fillScores(SensitivityRow& row, const BranchResult& result) {
    row.reason = result.reason;
    row.tokens = tokensOf(result.scores), row.notFinite = notFiniteOf(result.scores);
    row.divergence = divergenceOf(result.scores), row.nllChange = nllChangeOf(result.scores);
    row.sameTop = sameTopOf(result.scores);
    if (row.reason.empty() && row.tokens == 0) row.reason = "No logit is a finite number.";
    if (!row.divergence) return;
    row.largestDivergence = 0;
    for (const ChunkScores& chunk : result.scores)
        row.largestDivergence = std::max(*row.largestDivergence, chunk.largestDivergence);
}

Result<void> addAdditivity(SensitivityRun& run, const std::vector<UnitSum>& sums, bool hasFloors, const Job& job) {
    if (sums.empty()) return {};
    const auto together = run.allAtOnce(true, job);
    if (!together) return tl::unexpected(together.error());
    for (std::size_t s = 0; s < sums.size(); ++s) {
        const auto& all = together->of[s];
        if (!all || !together->floor) continue; // left out
        const auto& [sum, units] = sums[s];
        Additivity out;
        out.spec = specText(run.plan().specs[s]), out.how = run.plan().how->id;
        out.units = run.units().size(), out.missing = out.units - units, out.sum = sum;
        out.floor = *together->floor, out.reason = all->reason, out.all = divergenceOf(all->scores);
        if (out.all && out.all->mean > out.floor && units > 0)
            out.ratio = (sum - (hasFloors ? double(units) * out.floor : 0)) / (out.all->mean - out.floor);
        run.put(std::move(out));
    }
    return {};
}

Result<void> measureAlone(SensitivityRun& run, const Job& job) {
    const auto& specs = run.plan().specs;
    std::vector<Branch> branches; // all specs of the first unit, then all specs of the second, and so on
    for (const Unit& unit : run.units())
        for (const QuantSpec& spec : specs) branches.push_back(run.quantized(unit, spec));
    std::vector<UnitSum> sums(specs.size());
    std::vector<std::optional<double>> means(branches.size());
    const auto done = [&](std::size_t i, const BranchResult& result) -> Result<void> {
        const std::size_t u = i / specs.size(), s = i % specs.size();
        SensitivityRow row = run.rowOf(run.units()[u], &specs[s]);
        fillScores(row, result);
        if (row.reason.empty()) {
            const auto nmse = run.nmseOf(run.units()[u], specs[s], job);
            if (!nmse) return tl::unexpected(nmse.error());
            row.nmse = *nmse;
        }
        if (row.divergence) means[i] = row.divergence->mean;
        run.put(u, s, std::move(row));
        return {};
    };
    if (auto all = run.score(nullptr, std::move(branches), done, job, run.plan().until); !all) return all;
    for (std::size_t i = 0; i < means.size(); ++i)
        if (means[i]) sums[i % specs.size()].sum += *means[i], ++sums[i % specs.size()].units;
    return addAdditivity(run, sums, true, job);
}

} // namespace qs::eval
