// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/restored_evidence.h"

#include "core/eval/trust/evidence_files.h"
#include "core/session/kept_evidence.h"
#include "core/session/kept_sensitivity.h"

namespace qs::gui {

RestoredEvidence readEvidence(const EvidenceTexts& texts) {
    RestoredEvidence out;
    const auto readBegun = [&](const std::shared_ptr<const std::string>& text, std::optional<BegunEvaluation>& to) {
        if (!text) return;
        auto kept = begunKept(*text);
        if (kept)
            to = std::move(*kept);
        else
            out.trouble = kept.error().message;
    };
    readBegun(texts.begun, out.begun);
    readBegun(texts.begunTensors, out.begunTensors);
    if (texts.tensors) {
        auto kept = sensitivityKept(*texts.tensors);
        if (kept)
            out.tensors = std::move(*kept);
        else
            out.trouble = kept.error().message;
    }
    if (out.tensors.chunks > 0) {
        auto byHow = std::make_shared<SensitivityRows>();
        for (const auto& row : out.tensors.rows) (*byHow)[row.how].push_back(row);
        out.byHow = std::move(byHow);
    }
    if (texts.record) {
        auto kept = evidenceKept(*texts.record);
        if (kept)
            out.record = std::make_shared<const eval::EvaluationRecord>(std::move(*kept));
        else
            out.trouble = kept.error().message;
    }
    return out;
}

OutputEffects effectsOf(const RestoredEvidence& restored) {
    OutputEffects out;
    eval::addEffects(restored.tensors.rows, out);
    if (restored.record) eval::addEffects(*restored.record, out);
    return out;
}

OutputText textOf(const RestoredEvidence& restored) {
    OutputText out;
    if (const auto& record = restored.record)
        out = {record->textPath, record->ids, record->context, record->wanted, record->scored, nullptr, 0};
    out.sensitivities = restored.byHow;
    if (out.sensitivities) out.measuredChunks = restored.tensors.chunks;
    return out;
}

} // namespace qs::gui
