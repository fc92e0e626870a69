// SPDX-License-Identifier: GPL-3.0-or-later
// What the page evaluates, shows, keeps and restores.
#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/pages/evidence/evidence_embeddings.h"
#include "app/gui/pages/evidence/evidence_output.h"
#include "app/gui/pages/evidence/evidence_page.h"
#include "app/gui/pages/evidence/evidence_records.h"
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

void EvidencePage::begin() { run(false); }

void EvidencePage::resume() {
    if (canResume()) run(true);
}

bool EvidencePage::canResume() const { return !running() && reach().done > 0; }

EvidenceReach EvidencePage::reach() const {
    if (running()) return shared_->reach();
    return lookedUp_ == choice_->settings() ? reach_ : EvidenceReach();
}

void EvidencePage::lookUp() {
    const EvidenceSettings settings = choice_->settings();
    if (running() || !session_.model() || settings == lookedUp_) return;
    lookedUp_ = settings, reach_ = {};
    if (std::exchange(saysReach_, false)) status_->say({});
    if (!settings.hasText() || !settings.hasChanges()) return looking_.drop();
    const auto work = [model = session_.model(), settings](const Job&) -> Result<EvidenceReach> {
        return reachOf(*model, settings);
    };
    looking_.run({}, work, [this](EvidenceReach reach) {
        if (reach.done == 0) return;
        reach_ = reach, saysReach_ = true;
        status_->say(tr("Stopped before: %1 of %2 chunks are done. Resume goes on from there.")
                         .arg(reach.done)
                         .arg(reach.chunks));
        draw();
    });
}

void EvidencePage::run(bool goesOn) {
    const EvidenceSettings settings = choice_->settings();
    if (!session_.model() || !settings.hasText() || !settings.hasChanges()) return;
    banner_->say({});
    looking_.drop();
    begun_ = settings;
    lookedUp_ = {}, saysReach_ = false, waitsForRecipe_ = false;
    shared_ = std::make_shared<EvidenceShared>();
    readsBeside(session_, choice_->path(), tr("the text of the evaluation"));
    const QStringList specs = settings.names();
    const auto work = [model = session_.model(), settings, goesOn, shared = shared_,
                       turn = turn_](const Job& job, Inbox<EvidenceMail>& inbox) {
        const std::lock_guard guard(*turn);
        return runEvidence(model, settings, goesOn, *shared, job, inbox);
    };
    const auto arrived = [this, specs](EvidenceMail profiles) { output_->setLive(specs, std::move(profiles)); };
    task_.run<EvidenceMail>("Evaluating the model's output", work, arrived,
                            [this](EvidenceAnswer answer) { take(std::move(answer)); });
    session_.keep(QLatin1String(kEvidenceBegun), [begun = begunOf(settings)] { return keptBegun(begun); });
    status_->say({});
    if (ground_.isEncoder)
        embeddings()->setRecord(nullptr);
    else
        output_->setLive(specs, EvidenceMail(std::size_t(specs.size())));
    draw();
}

void EvidencePage::take(EvidenceAnswer answer) {
    if (answer.record) record_ = answer.record;
    showRecord();
    if (!answer.record) return offer(answer.trouble);
    session_.keep(QLatin1String(kEvidenceBegun), nullptr);
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
    if (running()) return;
    if (!record_ && kept->record) takeRestoredRecord(*kept);
    takeBegun();
}

void EvidencePage::takeRestoredRecord(const RestoredEvidence& kept) {
    record_ = kept.record;
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
    if (kept.trouble.empty()) status_->say(tr("As it was evaluated before."));
}

/// Chooses what had not ended when the session was saved.
void EvidencePage::takeBegun() {
    const auto kept = session_.restoredEvidence();
    waitsForRecipe_ = false;
    if (!kept || (!kept->begun && !kept->begunTensors)) return;
    const BegunEvaluation& begun = kept->begun ? *kept->begun : *kept->begunTensors;
    waitsForRecipe_ = begun.recipe && !session_.recipe()->isMixed();
    choice_->setSettings(settingsOf(begun, session_));
    if (kept->begunTensors) tensors_->goOnWith(settingsOf(*kept->begunTensors, session_), kept->begunTensors->how);
    draw();
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
