// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/measures.h"

namespace qs::eval {
namespace {

/// All units of the run but one.
Unit allBut(const SensitivityRun& run, const Unit& spared) {
    Unit out{"all but " + spared.name, {}, -1, {}};
    for (const Unit& unit : run.units())
        if (unit.name != spared.name)
            out.matrices.insert(out.matrices.end(), unit.matrices.begin(), unit.matrices.end());
    return out;
}

} // namespace

Result<void> measureSpared(SensitivityRun& run, const Job& job) {
    const auto together = run.allAtOnce(false, job);
    if (!together) return tl::unexpected(together.error());
    for (std::size_t s = 0; s < run.plan().specs.size(); ++s) {
        const QuantSpec& spec = run.plan().specs[s];
        const auto& all = together->of[s]; // none: it is left out, and so is every row
        Unit every{"all", {}, -1, {}};
        for (const Unit& unit : run.units())
            every.matrices.insert(every.matrices.end(), unit.matrices.begin(), unit.matrices.end());
        const WeightChange base = run.quantized(every, spec).change;
        std::vector<Branch> branches;
        for (const Unit& unit : run.units()) {
            Branch branch = run.quantized(allBut(run, unit), spec);
            branch.layers = unit.layers(); // what differs from the base, in which all units are quantized
            branch.kept = run.whyKept(unit, spec);
            branches.push_back(run.withOutside(std::move(branch), unit));
        }
        const auto done = [&](std::size_t u, const BranchResult& result) -> Result<void> {
            if (!all) return {};
            SensitivityRow row = run.rowOf(run.units()[u], &spec);
            fillScores(row, result);
            const RunScores* const runs[] = {&all->scores, &result.scores};
            const double factors[] = {1, -1};
            if (row.divergence && all->reason.empty()) row.gain = combined(runs, factors);
            if (row.divergence && !row.gain) row.reason = "Some logits are not finite, so the two runs are not paired.";
            run.put(u, s, std::move(row));
            return {};
        };
        if (!all || all->reason.empty()) {
            if (auto measured = run.score(&base, std::move(branches), done, job); !measured) return measured;
            continue;
        }
        for (std::size_t u = 0; u < run.units().size(); ++u)
            if (auto refused = done(u, {{}, all->reason}); !refused) return refused;
    }
    return {};
}

} // namespace qs::eval
