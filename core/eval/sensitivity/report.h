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
/// A table of the sums of single figures.
Table additivityTable(const std::string& title, const std::vector<Additivity>& rows);
/// How well proxies, imported figures included, rank tensors in the same order as the measured figures. It has only
/// rows with an agreement.
std::vector<TrustRow> sensitivityTrust(const Sensitivity& result, std::span<const ImportedColumn> imported);
/// Remarks: the reference is itself quantized, `quantize` refuses a spec; empty if there are none.
std::string referenceRemark(const Sensitivity& result);
/// A note that must stand beside the figures of these ways to measure.
std::string sensitivityNote(std::span<const SensitivityHow* const> hows);
Result<Report> sensitivityReport(const Model& model, const SensitivityPlan& plan, const Sensitivity& result,
                                 std::span<const ImportedColumn> imported, const std::string& commandLine,
                                 const Job& job);

} // namespace qs::eval
