// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The tab Output: a guide before anything is evaluated, then the figures of predictions or those of embeddings.

#include "app/gui/pages/evidence/evidence_run.h"

#include <QWidget>

class QStackedLayout;

namespace qs::gui {

class EvidenceEmbeddings;
class EvidenceGuide;
class EvidenceOutput;

class EvidenceResults : public QWidget {
public:
    EvidenceResults();
    EvidenceGuide* guide() const { return guide_; }
    EvidenceOutput* output() const { return output_; }
    EvidenceEmbeddings* ofEncoder() const { return embeddings_; } ///< null: no encoder was opened

    enum class Part { Guide, Output, Embeddings };
    void turnTo(Part part);
    void setRecord(const std::shared_ptr<const eval::EvaluationRecord>& record); ///< null: there is none
    /// An evaluation of these specs begins.
    void begin(const QStringList& specs, bool isEncoder);

private:
    EvidenceEmbeddings* embeddings(); ///< made when an encoder is open
    QStackedLayout* parts_;           ///< in the order of Part
    EvidenceGuide* guide_;
    EvidenceOutput* output_;
    EvidenceEmbeddings* embeddings_ = nullptr;
};

} // namespace qs::gui
