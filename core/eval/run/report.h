// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/eval/run/evaluate.h"
#include "core/eval/scores/paired.h"
#include "core/report/report.h"

namespace qs::eval {

/// One row for each change of the plan.
std::vector<EvaluationRow> evaluationRows(const EvaluationPlan& plan, const Evaluation& result);
/// Pairs of changes; see pairedRows().
std::vector<PairedRow> pairedOf(const EvaluationPlan& plan, const Evaluation& result);
/// What the activations of the rows are.
std::string activationsRemark(const std::vector<EvaluationRow>& rows);
/// That the reference is itself quantized; empty where it is not.
std::string referenceRemark(const Evaluation& result);
Result<Report> evaluationReport(const Model& model, const EvaluationPlan& plan, const Evaluation& result,
                                const std::string& commandLine, const Job& job);

} // namespace qs::eval
