// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A plan and its proof as a report.

#include "core/analysis/analysis.h"
#include "core/plan/proof.h"
#include "core/plan/speed.h"
#include "core/report/report.h"

namespace qs::plan {

/// Everything that a plan came from.
struct PlanRecord {
    const Objective* objective = nullptr;
    std::shared_ptr<const Options> options;
    std::shared_ptr<const Losses> losses;
    Mixture plan;
    Budget budget;
    std::vector<KnownRecipe> recipes = {};              ///< that it stands beside
    std::shared_ptr<const StoredSizes> sizes = nullptr; ///< of every spec of the options
    std::shared_ptr<const SpeedMap> speed = nullptr;    ///< null: nothing was timed
    std::optional<PlanProof> proof;
    eval::EvaluationText text; ///< empty path: none was used
    std::size_t context = 0;
    std::size_t lossChunks = 0; ///< the first ones; those of the proof come after them
};
/// A plan that was measured, with its test against chance.
struct MeasuredPlan {
    std::string objective; ///< id
    std::uint64_t budget = 0;
    std::string textPath, textSha256;
    std::size_t context = 0;
    std::size_t lossChunks = 0; ///< the first ones; those of the proof come after them
    std::shared_ptr<const PlanProof> proof;
    const Contender& plan() const { return proof->contenders.front(); }
};
/// "4.482 bpw, 77.2 MiB of 77.9 MiB; proved to be the best of 210 tensors x 8 specs", for people.
std::string planSummary(const PlanRecord& record);
/// Errors: the model's files changed, cancelled.
/// The plan, and its test against chance where there is one, as parts of another report.
std::vector<Section> planSections(const PlanRecord& record);
/// What a recipe makes of every weight: its spec, the rule that decided, bits and NMSE. `rows`: the analysis under the
/// recipe; null where a tensor was not measured, which is said.
Section recipeSection(const Model& model, const Recipe& recipe, std::span<const AnalysisRow> rows);
/// `withRows` false: without rows and sections, for JSON and CSV of very many units.
Result<Report> planReport(const Model& model, const PlanRecord& record, const std::string& commandLine, const Job& job,
                          bool withRows = true);

} // namespace qs::plan
