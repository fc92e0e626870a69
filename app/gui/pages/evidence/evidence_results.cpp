// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_results.h"

#include "app/gui/pages/evidence/evidence_embeddings.h"
#include "app/gui/pages/evidence/evidence_guide.h"
#include "app/gui/pages/evidence/evidence_output.h"

#include <QStackedLayout>

namespace qs::gui {

EvidenceResults::EvidenceResults()
    : parts_(new QStackedLayout(this)), guide_(new EvidenceGuide), output_(new EvidenceOutput) {
    parts_->addWidget(guide_);
    parts_->addWidget(output_);
}

EvidenceEmbeddings* EvidenceResults::embeddings() {
    if (!embeddings_) parts_->addWidget(embeddings_ = new EvidenceEmbeddings);
    return embeddings_;
}

void EvidenceResults::turnTo(Part part) {
    if (part == Part::Embeddings) embeddings();
    parts_->setCurrentIndex(int(part));
}

void EvidenceResults::setRecord(const std::shared_ptr<const eval::EvaluationRecord>& record) {
    const bool ofEncoder = record && !record->embeddings.empty();
    output_->setRecord(ofEncoder ? nullptr : record);
    if (ofEncoder || embeddings_) embeddings()->setRecord(ofEncoder ? record : nullptr);
}

void EvidenceResults::begin(const QStringList& specs, bool isEncoder) {
    if (isEncoder)
        embeddings()->setRecord(nullptr);
    else
        output_->setLive(specs, EvidenceMail(std::size_t(specs.size())));
}

} // namespace qs::gui
