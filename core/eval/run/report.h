// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis_report.h"
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
/// Where the figures come from: model, changes, text, tokenizer. Texts are never put into a chat template.
Result<Provenance> evaluationProvenance(const Model& model, const EvaluationPlan& plan, std::size_t chunks,
                                        const std::string& commandLine, const Job& job);
Result<Report> evaluationReport(const Model& model, const EvaluationPlan& plan, const Evaluation& result,
                                const std::string& commandLine, const Job& job);

} // namespace qs::eval
