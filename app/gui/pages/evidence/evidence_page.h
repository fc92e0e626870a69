// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What quantization does to the model's output: a text is evaluated under several specs.

#include "app/gui/page_in_parts.h"
#include "app/gui/pages/evidence/evidence_run.h"

class QAbstractButton;
class QLabel;
class QPushButton;
class QStackedLayout;

namespace qs::gui {

class Banner;
class EmptyState;
class EvidenceChoice;
class EvidenceGuide;
class EvidenceOutput;
class EvidenceTensors;
class EvidenceTrust;
class Session;
class StatusLine;

class EvidencePage : public PageInParts {
    Q_OBJECT
public:
    explicit EvidencePage(Session& session, QWidget* parent = nullptr);
    bool running() const { return task_.running(); }
    const std::shared_ptr<const eval::EvaluationRecord>& record() const { return record_; }
    EvidenceChoice* choice() const { return choice_; }
    EvidenceOutput* output() const { return output_; }
    EvidenceTensors* tensors() const { return tensors_; }
    EvidenceTrust* trust() const { return trust_; }

Q_SIGNALS:
    void settled();

private:
    QWidget* sidebar();
    QWidget* results();
    QLayout* tabs();
    void connectSession();
    void modelChanged();
    void judge(); ///< asks what the model allows
    void tell();  ///< gives the session the text and the sensitivities
    void begin();
    void useSampleText();
    void take(EvidenceAnswer answer);
    void offer(const EvidenceTrouble& trouble);
    void keep();
    void importIfAsked();
    void shareEffects();
    bool takeRestored();
    void draw();

    Session& session_;
    Task task_, judging_, restoring_, restoringTensors_;
    EvidenceGround ground_;
    std::shared_ptr<const eval::EvaluationRecord> record_;
    QStackedLayout *stack_, *right_ = nullptr, *views_ = nullptr;
    EmptyState* empty_;
    QAbstractButton* trustTab_ = nullptr;
    QLabel* facts_;
    Banner* banner_;
    EvidenceChoice* choice_ = nullptr;
    QPushButton *start_ = nullptr, *stop_ = nullptr;
    StatusLine* status_ = nullptr;
    EvidenceGuide* guide_ = nullptr;
    EvidenceOutput* output_ = nullptr;
    EvidenceTensors* tensors_ = nullptr;
    EvidenceTrust* trust_ = nullptr;
};

} // namespace qs::gui
