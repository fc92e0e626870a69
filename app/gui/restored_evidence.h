// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a session file kept of the model's output. The session reads it as soon as the file is open, so that all pages have
// its figures.

#include "app/gui/output_text.h"
#include "core/analysis/output_effects.h"
#include "core/eval/run/record.h"

namespace qs::gui {

constexpr const char *kEvidenceKept = "evidence", *kTensorsKept = "sensitivity"; ///< in session files

struct RestoredEvidence {
    std::shared_ptr<const eval::EvaluationRecord> record; ///< null: none was kept
    eval::Sensitivity tensors;                            ///< no rows: none were kept
    /// The same rows, for the plan; null: it is not known how many chunks they were measured on.
    std::shared_ptr<const SensitivityRows> byHow;
    std::string trouble; ///< what is damaged; empty: nothing
};
/// `record`, `tensors`: the kept texts; null: none.
RestoredEvidence readEvidence(const std::string* record, const std::string* tensors);

/// What it says of single tensors and of whole models.
OutputEffects effectsOf(const RestoredEvidence& restored);
/// The text of its evaluation, as the page Evidence would give it.
OutputText textOf(const RestoredEvidence& restored);

} // namespace qs::gui
