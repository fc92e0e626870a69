// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is known of the model's output, beside the figures of its weights: an evaluation, the effects of single tensors,
// the text that they were measured on, and how far proxies can be trusted.

#include "app/gui/output_text.h"
#include "app/gui/restored_evidence.h"
#include "app/gui/trust_keeper.h"

namespace qs::gui {

class ModelOutput : public QObject {
    Q_OBJECT
public:
    ModelOutput();

    /// The last evaluation; null: none.
    const std::shared_ptr<const eval::EvaluationRecord>& evidence() const { return evidence_; }
    void setEvidence(std::shared_ptr<const eval::EvaluationRecord> evidence);
    /// The text of the page Evidence, and what each tensor does to the output on it.
    const OutputText& text() const { return text_; }
    void setText(OutputText text);
    const std::shared_ptr<const OutputEffects>& effects() const { return effects_; } ///< null: nothing
    void setEffects(std::shared_ptr<const OutputEffects> effects);
    /// What the opened session file kept; null: nothing, or it is still read.
    const std::shared_ptr<const RestoredEvidence>& restored() const { return restored_; }
    /// Reads it on a worker. What is known already is not replaced.
    void restore(const EvidenceTexts& texts);

    /// How far a proxy ranks tensors under a spec as their effect on the output does; null: not measured.
    const ProxyTrust* trust(const Metric& proxy, const QuantSpec& spec) const;
    QString trustText(const Metric& proxy,
                      const QuantSpec& spec) const; ///< one line; empty if the metric is not a proxy
    QString trustTip(const Metric& proxy, const QuantSpec& spec) const;   ///< sentences; names what it misjudges
    QString metricTip(const Metric& metric, const QuantSpec& spec) const; ///< qs::metricTip(), and what to think of it
    void setTrustSource(std::function<std::vector<TrustKeeper::Measured>()> source);
    void rowsChanged(); ///< those of the weights

    /// Asks the page that imports figures for a file.
    void askForImport();
    bool takeImportAsked(); ///< whether that has just been asked for; the page calls it
    /// For another model. Sends no effectsChanged().
    void clear();

Q_SIGNALS:
    void evidenceChanged();
    void evidenceRestored(); ///< restored() was read
    void effectsChanged();
    void textChanged();
    void trustChanged();    ///< trust()
    void importRequested(); ///< see askForImport()

private:
    std::shared_ptr<const eval::EvaluationRecord> evidence_;
    std::shared_ptr<const RestoredEvidence> restored_;
    std::shared_ptr<const OutputEffects> effects_;
    OutputText text_;
    TrustKeeper trust_;
    Task reading_;
    bool importAsked_ = false;
};

} // namespace qs::gui
