// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The functions behind sensitivityHows().

#include "core/eval/sensitivity/sensitivity_run.h"

namespace qs::eval {

Result<void> measureAlone(SensitivityRun& run, const Job& job);
Result<void> measureSpared(SensitivityRun& run, const Job& job);
Result<void> measureSlope(SensitivityRun& run, const Job& job);
Result<void> measureOutput(SensitivityRun& run, const Job& job);

/// Fills the figures that every run has.
void fillScores(SensitivityRow& row, const BranchResult& result);
/// The sum of the figures of single units under a spec, over the units that have one.
struct UnitSum {
    double sum = 0;
    std::size_t units = 0;
};
/// Compares the sums with the figure of all units at once. `sums`: one for each spec of the plan. `hasFloors`: each figure
/// in a sum has a noise floor in it.
Result<void> addAdditivity(SensitivityRun& run, const std::vector<UnitSum>& sums, bool hasFloors, const Job& job);

} // namespace qs::eval
