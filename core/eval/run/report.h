// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/eval/run/evaluate.h"
#include "core/report/report.h"

namespace qs::eval {

/// One row for each change of the plan.
std::vector<EvaluationRow> evaluationRows(const EvaluationPlan& plan, const Evaluation& result);
/// `source`: the file with the text or the token ids; its SHA-256 is part of the provenance.
Result<Report> evaluationReport(const Model& model, const EvaluationPlan& plan, const Evaluation& result,
                                const std::string& source, const std::string& commandLine, const Job& job);

} // namespace qs::eval
