// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_page.h"

#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_banner.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/pages/evidence/evidence_guide.h"
#include "app/gui/pages/evidence/evidence_imports.h"
#include "app/gui/pages/evidence/evidence_output.h"
#include "app/gui/pages/evidence/evidence_records.h"
#include "app/gui/pages/evidence/evidence_results.h"
#include "app/gui/pages/evidence/evidence_tensors.h"
#include "app/gui/pages/evidence/evidence_trust.h"
#include "app/gui/restored_evidence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/job_lane.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/status_line.h"
#include "app/gui/widgets/tab_row.h"
#include "core/base/text.h"
#include "core/eval/run/report.h"
#include "core/eval/trust/evidence_files.h"
#include "core/session/kept_sensitivity.h"

#include <QApplication>
#include <QButtonGroup>
#include <QGridLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStackedLayout>

namespace qs::gui {
EvidencePage::EvidencePage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), evaluation_(session.tasks()), stack_(new QStackedLayout(this)),
      empty_(new EmptyState(session)), facts_(new QLabel), banner_(new EvidenceBanner(session)) {
    setAccessibleName(tr("Evidence"));
    auto* content = new QWidget;
    auto* grid = spaced(new QGridLayout(content), Theme::kGap, Theme::kPageMargins);
    auto* title = dressed(new QLabel(tr("Evidence")), Theme::words(18, QFont::DemiBold));
    dress(*facts_, Theme::numbers(), "muted");
    auto* alone = captionLabel(tr("f32 activations: the effect of the weights alone"));
    auto* header = spaced(new QHBoxLayout, Theme::kMargin);
    header->addWidget(title);
    header->addWidget(facts_, 1);
    header->addWidget(alone);
    grid->addLayout(header, 0, 0, 1, 2);
    grid->setRowMinimumHeight(0, Theme::kControl);
    grid->addWidget(banner_, 1, 0, 1, 2);
    addPart([this, grid] { grid->addWidget(sidebar(), 2, 0); });
    addPart([this, grid] { grid->addWidget(results(), 2, 1); });
    addPart([this] { connectSession(); });
    grid->setColumnStretch(1, 1);
    grid->setRowStretch(2, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);
}

QWidget* EvidencePage::sidebar() {
    auto* body = new QWidget;
    auto* column = spaced(new QVBoxLayout(body), 4);
    choice_ = new EvidenceChoice(session_);
    column->addWidget(choice_, 1);
    column->addSpacing(Theme::kSpace);
    start_ = named(new QPushButton(tr("Evaluate")), "evidenceStart", "primary");
    resume_ = named(new QPushButton(tr("Resume")), "evidenceResume");
    resume_->setToolTip(tr("Goes on behind the chunks that an evaluation of the same has finished before it was "
                           "stopped, also before the program was closed"));
    stop_ = named(new QPushButton(tr("Cancel")), "evidenceStop");
    status_ = new StatusLine("evidenceStatus");
    addWidgets(*column, {resume_, start_, stop_, status_});
    connect(choice_, &EvidenceChoice::changed, this, &EvidencePage::draw);
    connect(choice_, &EvidenceChoice::refused, this, [this](const QString& why) { status_->say(why, true); });
    connect(start_, &QPushButton::clicked, this, &EvidencePage::begin);
    connect(banner_, &EvidenceBanner::beginAsked, this, &EvidencePage::begin);
    connect(resume_, &QPushButton::clicked, this, &EvidencePage::resume);
    connect(stop_, &QPushButton::clicked, this, [this] { session_.cancelJobs(); });
    auto* card = new Card(tr("What is evaluated"));
    card->setFixedWidth(260);
    card->setBody(body);
    return card;
}

QWidget* EvidencePage::results() {
    results_ = new EvidenceResults;
    auto* side = new QWidget;
    auto* column = spaced(new QVBoxLayout(side), Theme::kSpace);
    tensors_ = new EvidenceTensors(session_, [this] { return choice_->settings(); });
    trust_ = new EvidenceTrust(session_);
    views_ = new QStackedLayout;
    addWidgets(*views_, {results_, tensors_, trust_});
    column->addLayout(tabs());
    column->addLayout(views_, 1);
    connect(tensors_, &EvidenceTensors::changed, this, [this] {
        trust_->setTensors(tensors_->rows());
        shareEffects();
        tell();
        if (const auto known = std::make_shared<const eval::Sensitivity>(tensors_->known()); !known->rows.empty())
            session_.keep(QLatin1String(kTensorsKept), [known] { return keptSensitivity(*known); });
    });
    connect(trust_->imports(), &EvidenceImports::changed, this, &EvidencePage::shareEffects);
    connect(trust_->imports(), &EvidenceImports::baseChosen, choice_, &EvidenceChoice::setBase);
    connect(choice_, &EvidenceChoice::changed, tensors_, &EvidenceTensors::follow);
    connect(results_->guide(), &EvidenceGuide::sampleTextAsked, this, &EvidencePage::useSampleText);
    connect(results_->guide(), &EvidenceGuide::textAsked, choice_, &EvidenceChoice::chooseText);
    return side;
}

QLayout* EvidencePage::tabs() {
    const Tab all[] = {{"evidenceTabOutput", tr("Output"), tr("What each spec does to the model's output")},
                       {"evidenceTabTensors", tr("Tensors"), tr("Which tensor breaks: the effect of each one alone")},
                       {"evidenceTabTrust", tr("Trust"), tr("Whether figures of the weights rank as the output does")}};
    auto* row = spaced(new QHBoxLayout, 4);
    auto* group = addTabs(*row, all, this);
    reference_ =
        dressed(named(new ElidedLabel(Qt::ElideRight), "evidenceQuantizedReference"), Theme::words(11), "warn");
    row->addSpacing(Theme::kSpace);
    row->addWidget(reference_, 1);
    connect(group, &QButtonGroup::idClicked, this, [this, group](int id) {
        group->button(id)->setFocus(); // before what had the focus is hidden
        views_->setCurrentIndex(id);
    });
    trustTab_ = group->buttons().back();
    return row;
}

void EvidencePage::connectSession() {
    status_->listenTo(evaluation_.task());
    connect(&session_, &Session::modelChanged, this, &EvidencePage::modelChanged);
    connect(&session_.output(), &ModelOutput::evidenceRestored, this, [this] {
        takeRestored();
        draw();
        Q_EMIT settled();
    });
    for (const auto signal : {&Session::specChanged, &Session::recipeChanged})
        connect(&session_, signal, choice_, &EvidenceChoice::followSpecs);
    connect(&session_, &Session::recipeChanged, this, [this] {
        if (waitsForRecipe_ && session_.recipe()->isMixed()) takeBegun();
    });
    connect(&evaluation_, &EvidenceEvaluation::found, this, [this](const EvidenceReach& reach) {
        if (reach.done == 0) return status_->say({});
        status_->say(tr("Stopped before: %1 of %2 chunks are done. Resume goes on from there.")
                         .arg(reach.done)
                         .arg(reach.chunks));
        draw();
    });
    connect(&evaluation_, &EvidenceEvaluation::cancelled, this, [this](const EvidenceReach& reach) {
        results_->setRecord(record_);
        QString text =
            reach.done == 0
                ? tr("Cancelled.")
                : tr("Cancelled after %1 of %2 chunks; Resume goes on from there.").arg(reach.done).arg(reach.chunks);
        if (record_) text += tr(" What is shown is the evaluation before.");
        status_->say(text);
    });
    for (const Task* task : {&evaluation_.task(), &std::as_const(judging_)})
        connect(task, &Task::over, this, [this] {
            draw();
            Q_EMIT settled();
        });
    connect(&session_.output(), &ModelOutput::importRequested, this, &EvidencePage::importIfAsked);
    modelChanged();
    importIfAsked();
}

/// Asks for figures of another program, where somebody has asked for that.
void EvidencePage::importIfAsked() {
    if (!session_.output().takeImportAsked() || !session_.model()) return;
    trustTab_->click();
    trust_->imports()->choose();
}

/// What is known of the output stands beside the figures of the weights on all pages.
void EvidencePage::shareEffects() {
    auto effects = std::make_shared<OutputEffects>();
    eval::addEffects(tensors_->rows(), *effects);
    eval::addEffects(trust_->imports()->columns(), *effects);
    if (record_) eval::addEffects(*record_, *effects);
    session_.output().setEffects(std::move(effects));
}

void EvidencePage::modelChanged() {
    evaluation_.drop();
    judging_.drop();
    record_.reset();
    waitsForRecipe_ = false;
    ground_ = {};
    banner_->say({});
    status_->say({});
    results_->setRecord(nullptr);
    const QSignalBlocker quietChoice(choice_), quietTensors(tensors_); // the session has the effects of its file
    tensors_->clear();
    trust_->setTensors({});
    trust_->imports()->clear();
    trust_->setRecord(nullptr);
    empty_->askForModel();
    stack_->setCurrentIndex(session_.model() ? 1 : 0);
    choice_->setText({}, false);
    choice_->setBase({});
    if (session_.model()) {
        choice_->followSpecs();
        judge();
        takeRestored();
    }
    draw();
}

void EvidencePage::tell() {
    const EvidenceSettings settings = choice_->settings();
    session_.output().setText({settings.path, settings.ids, settings.context, settings.chunks, settings.scored,
                               tensors_->byHow(), tensors_->chunks()});
}

void EvidencePage::judge() {
    const auto work = [model = session_.model()](const Job&) -> Result<EvidenceGround> {
        return evidenceGround(model);
    };
    judging_.run({}, work, [this](EvidenceGround ground) {
        ground_ = std::move(ground);
        if (ground_.positions > 0 && choice_->settings().context > ground_.positions)
            choice_->setContext(ground_.positions);
        const bool texts = ground_.noTokenizer.empty();
        choice_->allowTexts(texts), results_->guide()->allowTexts(texts);
        choice_->takesScored(!ground_.isEncoder), results_->guide()->setEncoder(ground_.isEncoder);
        tensors_->refuse(ground_.isEncoder ? tr("This model is an encoder: it predicts no tokens, so single tensors "
                                                "have no KL. The tab Output compares its embeddings.")
                                           : QString());
        if (ground_.trouble)
            banner_->offer(*ground_.trouble, *choice_);
        else if (!ground_.noTokenizer.empty())
            banner_->offer({ground_.noTokenizer, EvidenceTrouble::Remedy::TokenIds}, *choice_);
    });
}

void EvidencePage::useSampleText() {
    choice_->setText(session_.sampleText(), false);
    begin();
}

void EvidencePage::begin() { run(false); }

void EvidencePage::resume() {
    if (canResume()) run(true);
}

bool EvidencePage::canResume() const { return !running() && reach().done > 0; }

EvidenceReach EvidencePage::reach() const { return evaluation_.reach(choice_->settings()); }

void EvidencePage::run(bool goesOn) {
    const EvidenceSettings settings = choice_->settings();
    if (!session_.model() || !settings.hasText() || !settings.hasChanges()) return;
    banner_->say({});
    waitsForRecipe_ = false;
    readsBeside(session_, choice_->path(), tr("the text of the evaluation"));
    const QStringList specs = settings.names();
    evaluation_.run(
        session_.model(), settings, goesOn,
        [this, specs](EvidenceMail profiles) { results_->output()->setLive(specs, std::move(profiles)); },
        [this](EvidenceAnswer answer) { take(std::move(answer)); });
    session_.keep(QLatin1String(kEvidenceBegun), [begun = begunOf(settings)] { return keptBegun(begun); });
    status_->say({});
    results_->begin(specs, ground_.isEncoder);
    draw();
}

void EvidencePage::take(EvidenceAnswer answer) {
    if (answer.record) record_ = answer.record;
    results_->setRecord(record_);
    if (!answer.record) return banner_->offer(answer.trouble, *choice_);
    session_.keep(QLatin1String(kEvidenceBegun), nullptr);
    keep();
}

void EvidencePage::keep() {
    session_.output().setEvidence(record_);
    trust_->setRecord(record_);
    shareEffects();
    session_.keep(QLatin1String(kEvidenceKept), [held = record_] { return keptEvidence(*held); });
}

/// What the session has read of its file, where nothing newer is there.
void EvidencePage::takeRestored() {
    const auto kept = session_.output().restored();
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
    choice_->setSettings(settingsOf(*record_, session_));
    results_->setRecord(record_);
    if (kept.trouble.empty()) status_->say(tr("As it was evaluated before."));
}

/// Chooses what had not ended when the session was saved.
void EvidencePage::takeBegun() {
    const auto kept = session_.output().restored();
    waitsForRecipe_ = false;
    if (!kept || (!kept->begun && !kept->begunTensors)) return;
    const BegunEvaluation& begun = kept->begun ? *kept->begun : *kept->begunTensors;
    waitsForRecipe_ = begun.recipe && !session_.recipe()->isMixed();
    choice_->setSettings(settingsOf(begun, session_));
    if (kept->begunTensors) tensors_->goOnWith(settingsOf(*kept->begunTensors, session_), kept->begunTensors->how);
    draw();
}

void EvidencePage::draw() {
    const bool busy = running();
    tell();
    evaluation_.lookUp(session_.model(), choice_->settings());
    drawButtons();
    results_->guide()->setSampleText(!session_.sampleText().isEmpty());
    const bool ofEncoder = busy ? ground_.isEncoder : record_ && !record_->embeddings.empty();
    results_->turnTo(!record_ && !busy ? EvidenceResults::Part::Guide
                     : ofEncoder       ? EvidenceResults::Part::Embeddings
                                       : EvidenceResults::Part::Output);
    tensors_->follow();
    const QString remark = QString::fromStdString(eval::referenceRemark(ground_.matrices, ground_.quantized));
    reference_->setText(remark);
    reference_->setToolTip(remark);
    facts_->setText(record_ && !busy ? tr("%1 tokens   %2 chunks   %3")
                                           .arg(record_->tokens)
                                           .arg(record_->chunks)
                                           .arg(QString::fromStdString(durationText(record_->seconds)))
                                     : QString());
}

void EvidencePage::drawButtons() {
    const bool busy = running();
    const EvidenceSettings settings = choice_->settings();
    const auto* focus = QApplication::focusWidget();
    const bool focused =
        focus && (focus == start_ || focus == resume_ || focus == stop_ || results_->guide()->isAncestorOf(focus));
    start_->setVisible(!busy);
    resume_->setVisible(canResume());
    stop_->setVisible(busy);
    if (focused && (busy || record_ || canResume())) // what had the focus is hidden
        (busy ? stop_ : canResume() ? resume_ : start_)->setFocus();
    start_->setEnabled(session_.model() && !ground_.trouble && settings.hasText() && settings.hasChanges());
    start_->setToolTip(!settings.hasText()      ? tr("Choose a text first")
                       : !settings.hasChanges() ? tr("Tick a spec first")
                                                : QString());
}

QWidget* createEvidencePage(Session& session, QWidget* parent) { return new EvidencePage(session, parent); }

} // namespace qs::gui
