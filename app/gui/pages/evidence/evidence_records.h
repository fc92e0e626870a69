// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Records of the evaluations that the page has begun and not ended, in the cache of the program. They outlive the window:
// one that was closed or killed goes on behind the chunks that are there. The oldest are deleted first.

#include "app/gui/pages/evidence/evidence_run.h"
#include "core/records/unit_run.h"
#include "core/session/kept_evidence.h"

namespace qs::gui {

class Session;

/// The records of an evaluation with these settings; new ones go there too. Null: there is no folder for them, or it cannot be
/// used.
std::unique_ptr<UnitRun> recordsOf(const Model& model, const EvidenceSettings& settings);
/// What is there of an evaluation with these settings.
EvidenceReach reachOf(const Model& model, const EvidenceSettings& settings);
/// Keeps the number of all chunks with the records.
Result<void> keepChunks(UnitRun& records, std::size_t chunks);

/// The choice of an evaluation as a session file has it, and back. Specs that cannot be read are left out.
BegunEvaluation begunOf(const EvidenceSettings& settings);
EvidenceSettings settingsOf(const BegunEvaluation& begun, const Session& session);
/// What was chosen for an evaluation that has ended.
EvidenceSettings settingsOf(const eval::EvaluationRecord& record, const Session& session);

} // namespace qs::gui
