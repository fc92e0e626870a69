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

Result<void> addAdditivity(SensitivityRun& run, const QuantSpec& spec, double sum, std::size_t units,
                           std::size_t floors, const Job& job) {
    Additivity out;
    out.spec = specText(spec), out.how = run.plan().how->id;
    out.units = run.units().size(), out.missing = out.units - units, out.sum = sum;
    const auto floor = run.floor(job);
    if (!floor) return tl::unexpected(floor.error());
    const auto all = run.allAtOnce(spec, job);
    if (!all) return tl::unexpected(all.error());
    out.floor = *floor, out.reason = all->reason, out.all = divergenceOf(all->scores);
    if (out.all && out.all->mean > out.floor && units > 0)
        out.ratio = (sum - double(floors) * out.floor) / (out.all->mean - out.floor);
    run.put(std::move(out));
    return {};
}

Result<void> measureAlone(SensitivityRun& run, const Job& job) {
    const auto& specs = run.plan().specs;
    std::vector<Branch> branches; // all specs of the first unit, then all specs of the second, and so on
    for (const Unit& unit : run.units())
        for (const QuantSpec& spec : specs) branches.push_back(run.quantized(unit, spec));
    std::vector<double> sums(specs.size());
    std::vector<std::size_t> counts(specs.size());
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
        if (means[i]) sums[i % specs.size()] += *means[i], ++counts[i % specs.size()];
    for (std::size_t s = 0; s < specs.size(); ++s)
        if (auto added = addAdditivity(run, specs[s], sums[s], counts[s], counts[s], job); !added) return added;
    return {};
}

} // namespace qs::eval
