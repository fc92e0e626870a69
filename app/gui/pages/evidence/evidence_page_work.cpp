// SPDX-License-Identifier: GPL-3.0-or-later
// What the page evaluates, shows, keeps and restores.
#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/pages/evidence/evidence_embeddings.h"
#include "app/gui/pages/evidence/evidence_output.h"
#include "app/gui/pages/evidence/evidence_page.h"
#include "app/gui/pages/evidence/evidence_tensors.h"
#include "app/gui/pages/evidence/evidence_trust.h"
#include "app/gui/restored_evidence.h"
#include "app/gui/session.h"
#include "app/gui/widgets/banner.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/session/kept_evidence.h"

#include <QSignalBlocker>
#include <QStackedLayout>

namespace qs::gui {
namespace {

using Remedy = EvidenceTrouble::Remedy;

} // namespace

void EvidencePage::useSampleText() {
    choice_->setText(session_.sampleText(), false);
    begin();
}

void EvidencePage::begin() { run({}); }

void EvidencePage::resume() {
    if (canResume()) run(parts_->done());
}

bool EvidencePage::canResume() const { return !running() && finishedChunks() > 0 && begun_ == choice_->settings(); }

std::size_t EvidencePage::finishedChunks() const { return parts_ ? parts_->done().chunks() : 0; }

void EvidencePage::run(EvidenceDone before) {
    const EvidenceSettings settings = choice_->settings();
    if (!session_.model() || !settings.hasText() || !settings.hasChanges()) return;
    banner_->say({});
    begun_ = settings;
    parts_ = std::make_shared<EvidenceParts>(std::move(before));
    readsBeside(session_, choice_->path(), tr("the text of the evaluation"));
    const QStringList specs = settings.names();
    const auto work = [model = session_.model(), settings, parts = parts_](const Job& job, Inbox<EvidenceMail>& inbox) {
        return runEvidence(model, settings, *parts, job, inbox);
    };
    const auto arrived = [this, specs](EvidenceMail profiles) { output_->setLive(specs, std::move(profiles)); };
    task_.run<EvidenceMail>("Evaluating the model's output", work, arrived,
                            [this](EvidenceAnswer answer) { take(std::move(answer)); });
    status_->say({});
    if (ground_.isEncoder)
        embeddings()->setRecord(nullptr);
    else
        output_->setLive(specs, EvidenceMail(std::size_t(specs.size())));
    draw();
}

void EvidencePage::take(EvidenceAnswer answer) {
    parts_.reset();
    if (answer.record) record_ = answer.record;
    showRecord();
    if (!answer.record) return offer(answer.trouble);
    keep();
}

void EvidencePage::offer(const EvidenceTrouble& trouble) {
    std::vector<Banner::Action> actions;
    const QString sentence = QString::fromStdString(trouble.sentence);
    switch (trouble.remedy) {
    case Remedy::AnotherModel:
        actions.push_back({tr("Open another model"), {}, [this] { session_.showPage(kStartPage); }});
        if (const QString sample = Session::samplePath(); !sample.isEmpty())
            actions.push_back({tr("Open the sample"), {}, [this, sample] { session_.open(sample); }});
        break;
    case Remedy::AnotherText:
        actions.push_back({tr("Choose another text…"), {}, [this] { choice_->chooseText(choice_->settings().ids); }});
        break;
    case Remedy::TokenIds:
        actions.push_back({tr("Choose token ids…"), {}, [this] { choice_->chooseText(true); }});
        break;
    case Remedy::NoBackend:
        actions.push_back({tr("Evaluate without a backend"), {}, [this] {
                               choice_->setBackend({});
                               begin();
                           }});
        break;
    case Remedy::NoBase: actions.push_back({tr("Use the model itself"), {}, [this] { choice_->setBase({}); }}); break;
    case Remedy::Context:
        actions.push_back({tr("Use a context of %1").arg(trouble.context), {}, [this, context = trouble.context] {
                               choice_->setContext(context);
                               begin();
                           }});
        break;
    }
    banner_->offer(sentence, actions);
}

void EvidencePage::keep() {
    session_.setEvidence(record_);
    trust_->setRecord(record_);
    shareEffects();
    session_.keep(QLatin1String(kEvidenceKept), [held = record_] { return keptEvidence(*held); });
}

/// What the session has read of its file, where nothing newer is there.
void EvidencePage::takeRestored() {
    const auto kept = session_.restoredEvidence();
    if (!kept) return;
    if (!kept->trouble.empty()) status_->say(QString::fromStdString(oneSentence(kept->trouble)), true);
    if (tensors_->rows().empty() && !tensors_->running() && !kept->tensors.rows.empty()) {
        const QSignalBlocker quiet(tensors_); // the session has them
        tensors_->restore(kept->tensors, kept->byHow);
        trust_->setTensors(tensors_->rows());
    }
    if (record_ || running() || !kept->record) return;
    record_ = kept->record;
    trust_->setRecord(record_);
    EvidenceSettings settings;
    settings.path = record_->textPath, settings.ids = record_->ids, settings.scored = record_->scored;
    settings.context = record_->context, settings.chunks = record_->wanted;
    const auto tick = [&](const std::string& text) {
        if (auto spec = parseSpec(text)) settings.specs.push_back(std::move(*spec));
    };
    for (const auto& change : record_->changes) {
        if (change.row.kind == eval::RowKind::Recipe) settings.recipe = session_.recipe();
        tick(change.row.spec);
    }
    for (const auto& one : record_->embeddings) tick(one.row.spec);
    choice_->setSettings(settings);
    showRecord();
    if (kept->trouble.empty()) status_->say(tr("As it was evaluated before."));
}

EvidenceEmbeddings* EvidencePage::embeddings() {
    if (!embeddings_) right_->addWidget(embeddings_ = new EvidenceEmbeddings);
    return embeddings_;
}

void EvidencePage::showRecord() {
    const bool ofEncoder = record_ && !record_->embeddings.empty();
    output_->setRecord(ofEncoder ? nullptr : record_);
    if (ofEncoder || embeddings_) embeddings()->setRecord(ofEncoder ? record_ : nullptr);
}

} // namespace qs::gui
