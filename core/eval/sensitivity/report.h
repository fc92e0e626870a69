// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/eval/files/imports/imported_columns.h"
#include "core/eval/sensitivity/sensitivity.h"
#include "core/eval/trust/trust.h"
#include "core/report/report.h"

namespace qs::eval {

/// Rows of each spec ranked by SensitivityRow::rank(), the worst first; those without a figure last.
std::vector<SensitivityRow> ranked(std::vector<SensitivityRow> rows);
/// The columns in which a row has something to show.
Table sensitivityTable(const std::string& title, const std::vector<SensitivityRow>& rows);
/// The same of sums of single figures.
Table additivityTable(const std::string& title, const std::vector<Additivity>& rows);
/// How far proxies, imported figures among them, rank tensors as what was measured does; rows with an agreement alone.
std::vector<TrustRow> sensitivityTrust(const Sensitivity& result, std::span<const ImportedColumn> imported);
/// That the reference is itself quantized; empty where it is not.
std::string referenceRemark(const Sensitivity& result);
/// What must be said beside the figures of these ways to measure.
std::string sensitivityNote(std::span<const SensitivityHow* const> hows);
Result<Report> sensitivityReport(const Model& model, const SensitivityPlan& plan, const Sensitivity& result,
                                 std::span<const ImportedColumn> imported, const std::string& commandLine,
                                 const Job& job);

} // namespace qs::eval
