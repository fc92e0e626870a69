// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a session file kept of the model's output. The session reads it as soon as the file is open, so that all pages have
// its figures.

#include "app/gui/output_text.h"
#include "core/analysis/output_effects.h"
#include "core/session/kept_evidence.h"

namespace qs::gui {

/// Names in session files; the last two are there while an evaluation, or a measurement of each tensor, has not ended.
constexpr const char *kEvidenceKept = "evidence", *kTensorsKept = "sensitivity", *kEvidenceBegun = "evidence-begun",
                     *kTensorsBegun = "sensitivity-begun";

struct RestoredEvidence {
    std::shared_ptr<const eval::EvaluationRecord> record; ///< null: none was kept
    eval::Sensitivity tensors;                            ///< no rows: none were kept
    /// The same rows, for the plan; null: it is not known how many chunks they were measured on.
    std::shared_ptr<const SensitivityRows> byHow;
    std::optional<BegunEvaluation> begun, begunTensors; ///< that had not ended
    std::string trouble;                                ///< what is damaged; empty: nothing
};
/// Texts that a session file kept; null: none.
struct EvidenceTexts {
    std::shared_ptr<const std::string> record, tensors, begun, begunTensors;
    bool any() const { return record || tensors || begun || begunTensors; }
};
RestoredEvidence readEvidence(const EvidenceTexts& texts);

/// What it says of single tensors and of whole models.
OutputEffects effectsOf(const RestoredEvidence& restored);
/// The text of its evaluation, as the page Evidence would give it.
OutputText textOf(const RestoredEvidence& restored);

} // namespace qs::gui
