// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The measurement of a plan beside chance, on a worker.

#include "app/gui/pages/plan/plan_work.h"

namespace qs::gui {

struct MeasureRequest {
    std::shared_ptr<const PlanAnswer> answer;
    OutputText text;
    std::size_t draws = plan::kUsualDraws; ///< of each kind of chance
    /// The same plan with fewer draws, which are taken over where it was measured on the same text. None: all are measured.
    std::optional<plan::MeasuredPlan> before;
    std::size_t most = 0; ///< contenders to measure now, see plan::ProofRequest; 0: all
};
constexpr std::size_t kProofChunks = 8; ///< of the text at most
/// On chunks behind those of the losses, in contexts that the network has positions for. Errors: a text that cannot be
/// read or is too short, those of plan::provePlan().
Result<plan::MeasuredPlan> measurePlan(const MeasureRequest& request, const Job& job);

} // namespace qs::gui
