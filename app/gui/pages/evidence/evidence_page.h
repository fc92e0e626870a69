// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What quantization does to the model's output: a text is evaluated under several specs.

#include "app/gui/page_in_parts.h"
#include "app/gui/pages/evidence/evidence_run.h"

#include <mutex>

class QAbstractButton;
class QLabel;
class QPushButton;
class QStackedLayout;

namespace qs::gui {

class Banner;
class EmptyState;
class EvidenceChoice;
class EvidenceEmbeddings;
class EvidenceGuide;
class EvidenceOutput;
class EvidenceTensors;
class EvidenceTrust;
struct RestoredEvidence;
class Session;
class StatusLine;

class EvidencePage : public PageInParts {
    Q_OBJECT
public:
    explicit EvidencePage(Session& session, QWidget* parent = nullptr);
    bool running() const { return task_.running(); }
    EvidenceReach reach() const; ///< of what runs, or of the records for what is chosen
    const std::shared_ptr<const eval::EvaluationRecord>& record() const { return record_; }
    EvidenceChoice* choice() const { return choice_; }
    EvidenceOutput* output() const { return output_; }
    EvidenceTensors* tensors() const { return tensors_; }
    EvidenceTrust* trust() const { return trust_; }
    EvidenceEmbeddings* ofEncoder() const { return embeddings_; } ///< null: no encoder was opened

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
    void lookUp(); ///< asks what the records have of what is chosen
    void takeBegun();
    void useSampleText();
    void take(EvidenceAnswer answer);
    void offer(const EvidenceTrouble& trouble);
    void keep();
    void importIfAsked();
    void shareEffects();
    void takeRestored();
    void takeRestoredRecord(const RestoredEvidence& kept);
    void showRecord();
    EvidenceEmbeddings* embeddings(); ///< made when an encoder is open
    void draw();

    Session& session_;
    Task task_, judging_, looking_;
    EvidenceGround ground_;
    EvidenceSettings begun_;                 ///< of the last run
    std::shared_ptr<EvidenceShared> shared_; ///< with it; null: there was none
    std::shared_ptr<std::mutex> turn_;       ///< a run that was cancelled writes its records before the next one reads
    EvidenceSettings lookedUp_;              ///< what reach_ is of
    EvidenceReach reach_;                    ///< of the records
    bool saysReach_ = false;                 ///< the status line does
    bool waitsForRecipe_ = false;            ///< what is restored has the recipe, which is still read
    std::shared_ptr<const eval::EvaluationRecord> record_;
    QStackedLayout *stack_, *right_ = nullptr, *views_ = nullptr;
    EmptyState* empty_;
    QAbstractButton* trustTab_ = nullptr;
    QLabel *facts_, *reference_ = nullptr;
    Banner* banner_;
    EvidenceChoice* choice_ = nullptr;
    QPushButton *start_ = nullptr, *resume_ = nullptr, *stop_ = nullptr;
    StatusLine* status_ = nullptr;
    EvidenceGuide* guide_ = nullptr;
    EvidenceOutput* output_ = nullptr;
    EvidenceEmbeddings* embeddings_ = nullptr;
    EvidenceTensors* tensors_ = nullptr;
    EvidenceTrust* trust_ = nullptr;
};

} // namespace qs::gui
