// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A plan and its proof as a report.

#include "core/plan/proof.h"
#include "core/report/report.h"

namespace qs::plan {

/// Everything that a plan came from.
struct PlanRecord {
    const Objective* objective = nullptr;
    const Options* options = nullptr;
    const Losses* losses = nullptr;
    Mixture plan;
    std::uint64_t budget = 0; ///< bytes of the whole file
    std::optional<PlanProof> proof;
    eval::EvaluationText text; ///< empty path: none was used
    std::size_t context = 0;
    std::size_t lossChunks = 0; ///< the first ones; those of the proof come after them
};
/// "4.482 bpw, 77.2 MiB of 77.9 MiB; proved to be the best of 210 tensors x 8 specs", for people.
std::string planSummary(const PlanRecord& record);
/// Errors: the model's files changed, cancelled.
Result<Report> planReport(const Model& model, const PlanRecord& record, const std::string& commandLine, const Job& job);

} // namespace qs::plan
