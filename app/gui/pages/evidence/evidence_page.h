// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What quantization does to the model's output: a text is evaluated under several specs.

#include "app/gui/page_in_parts.h"
#include "app/gui/pages/evidence/evidence_evaluation.h"
#include "app/gui/pages/evidence/evidence_results.h"

class QAbstractButton;
class QLabel;
class QPushButton;
class QStackedLayout;

namespace qs::gui {

class EmptyState;
class EvidenceBanner;
class EvidenceChoice;
class EvidenceTensors;
class EvidenceTrust;
struct RestoredEvidence;
class Session;
class StatusLine;

class EvidencePage : public PageInParts {
    Q_OBJECT
public:
    explicit EvidencePage(Session& session, QWidget* parent = nullptr);
    bool running() const { return evaluation_.running(); }
    EvidenceReach reach() const; ///< of what runs, or of the records for what is chosen
    const std::shared_ptr<const eval::EvaluationRecord>& record() const { return record_; }
    EvidenceChoice* choice() const { return choice_; }
    EvidenceOutput* output() const { return results_->output(); }
    EvidenceTensors* tensors() const { return tensors_; }
    EvidenceTrust* trust() const { return trust_; }
    EvidenceEmbeddings* ofEncoder() const { return results_->ofEncoder(); } ///< null: no encoder was opened

Q_SIGNALS:
    void settled();

private:
    QWidget* sidebar();
    QWidget* results();
    QLayout* tabs();
    void connectSession();
    void modelChanged();
    void judge();  ///< asks what the model allows
    void tell();   ///< gives the session the text and the sensitivities
    void begin();  ///< from the first chunk on
    void resume(); ///< behind the chunks whose figures are in the records
    void run(bool goesOn);
    bool canResume() const;
    void takeBegun();
    void useSampleText();
    void take(EvidenceAnswer answer);
    void keep();
    void importIfAsked();
    void shareEffects();
    void takeRestored();
    void takeRestoredRecord(const RestoredEvidence& kept);
    void draw();
    void drawButtons();

    Session& session_;
    EvidenceEvaluation evaluation_;
    Task judging_;
    EvidenceGround ground_;
    bool waitsForRecipe_ = false; ///< what is restored has the recipe, which is still read
    std::shared_ptr<const eval::EvaluationRecord> record_;
    QStackedLayout *stack_, *views_ = nullptr;
    EmptyState* empty_;
    QAbstractButton* trustTab_ = nullptr;
    QLabel *facts_, *reference_ = nullptr;
    EvidenceBanner* banner_;
    EvidenceChoice* choice_ = nullptr;
    QPushButton *start_ = nullptr, *resume_ = nullptr, *stop_ = nullptr;
    StatusLine* status_ = nullptr;
    EvidenceResults* results_ = nullptr;
    EvidenceTensors* tensors_ = nullptr;
    EvidenceTrust* trust_ = nullptr;
};

} // namespace qs::gui
