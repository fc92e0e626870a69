// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is known of a model's output, out of files: JSON of the commands sensitivity and eval, and figures of other
// programs.

#include "core/analysis/output_effects.h"
#include "core/eval/run/record.h"
#include "core/eval/sensitivity/sensitivity_row.h"
#include "core/model/model.h"

#include <span>

namespace qs::eval {

/// Rows of single tensors, of any ways to measure.
void addEffects(std::span<const SensitivityRow> rows, OutputEffects& into);

/// Mean KL under each spec that was evaluated with our own products.
void addEffects(const EvaluationRecord& record, OutputEffects& into);

/// Errors: no such file, neither JSON of these commands nor what importFormats() knows, figures of another model, no
/// figure that is of use.
Result<void> addEvidenceFile(const std::shared_ptr<const Model>& model, const std::string& path, OutputEffects& into);

} // namespace qs::eval
