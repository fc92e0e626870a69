// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The command eval on a network that makes embeddings.

#include "app/cli/output_files.h"
#include "app/cli/units.h"
#include "core/eval/run/evaluate.h"

namespace qs::cli {

/// Whether the model is an encoder. False where its configuration is refused: what evaluates it says so.
bool makesEmbeddings(const Model& model);
/// Prints the cosines and writes the reports.
Result<void> evaluateAndPrintEmbeddings(std::shared_ptr<const Model> model, const eval::EvaluationPlan& plan,
                                        const OutputFiles& outputs, const UnitOptions& units,
                                        const std::string& commandLine);

} // namespace qs::cli
