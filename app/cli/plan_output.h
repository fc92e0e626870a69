// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the command `plan` prints and writes.

#include "app/cli/output_files.h"
#include "core/plan/report.h"

namespace qs::cli {

/// The tensors with the largest losses, what there is to say, and the tables beside them.
/// `remark`: a sentence to end with; "": none.
Result<void> printPlan(const plan::PlanRecord& record, const std::string& remark);
/// Writes every requested file. Pages have all rows in memory, JSON and CSV only where there are few: a model may have a
/// million tensors. `paths`: see OutputFiles::write().
Result<void> writePlan(const OutputFiles& outputs, const Model& model, const plan::PlanRecord& record,
                       const std::string& commandLine, const std::vector<std::string>& paths);

} // namespace qs::cli
