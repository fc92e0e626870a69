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
/// Compares the sum of the figures of single units with the figure of all units at once. `sum` and `units` count the
/// units that have a figure. `floors` is the number of noise floors in the sum.
Result<void> addAdditivity(SensitivityRun& run, const QuantSpec& spec, double sum, std::size_t units,
                           std::size_t floors, const Job& job);

} // namespace qs::eval
