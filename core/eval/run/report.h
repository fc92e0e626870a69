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
/// A remark that says in which type the activations of the rows are.
std::string activationsRemark(const std::vector<EvaluationRow>& rows);
/// A remark that the reference is itself quantized, with the number of quantized matrices. Empty if it has none.
std::string referenceRemark(std::size_t matrices, std::size_t quantized);
std::string referenceRemark(const Evaluation& result);
/// Where the figures come from: model, changes, text, tokenizer.
Result<Provenance> evaluationProvenance(const Model& model, const EvaluationPlan& plan, std::size_t chunks,
                                        const std::string& commandLine, const Job& job);
/// Adds where the tokens come from. Texts are never put into a chat template.
Result<void> addTextProvenance(const EvaluationText& text, std::size_t context, std::size_t chunks, Provenance& into,
                               const Job& job);
/// Adds which predictions count.
void addScoredProvenance(Scored scored, Provenance& into);
Result<Report> evaluationReport(const Model& model, const EvaluationPlan& plan, const Evaluation& result,
                                const std::string& commandLine, const Job& job);

} // namespace qs::eval
