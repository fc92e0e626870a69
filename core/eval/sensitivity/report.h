// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/eval/sensitivity/sensitivity.h"
#include "core/report/report.h"

namespace qs::eval {

/// Rows of each spec ranked by SensitivityRow::rank(), the worst first; those without a figure last.
std::vector<SensitivityRow> ranked(std::vector<SensitivityRow> rows);
/// The columns in which a row has something to show.
Table sensitivityTable(const std::string& title, const std::vector<SensitivityRow>& rows);
/// The same of sums of single figures.
Table additivityTable(const std::string& title, const std::vector<Additivity>& rows);
/// What must be said beside every figure of this way to measure.
std::string sensitivityNote(const SensitivityHow& how);
Result<Report> sensitivityReport(const Model& model, const SensitivityPlan& plan, const Sensitivity& result,
                                 const std::string& commandLine, const Job& job);

} // namespace qs::eval
