// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_page.h"

#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/pages/evidence/evidence_embeddings.h"
#include "app/gui/pages/evidence/evidence_guide.h"
#include "app/gui/pages/evidence/evidence_imports.h"
#include "app/gui/pages/evidence/evidence_output.h"
#include "app/gui/pages/evidence/evidence_tensors.h"
#include "app/gui/pages/evidence/evidence_trust.h"
#include "app/gui/restored_evidence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/banner.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/job_lane.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/eval/run/report.h"
#include "core/eval/trust/evidence_files.h"
#include "core/session/kept_sensitivity.h"

#include <QApplication>
#include <QButtonGroup>
#include <QGridLayout>
#include <QPushButton>
#include <QStackedLayout>
#include <QToolButton>

namespace qs::gui {
namespace {

constexpr int kOfTokens = 1, kOfEmbeddings = 2; ///< places in the stack of results; 0: the guide

} // namespace

EvidencePage::EvidencePage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), task_(&session.tasks()), turn_(std::make_shared<std::mutex>()),
      stack_(new QStackedLayout(this)), empty_(new EmptyState(session)), facts_(new QLabel), banner_(new Banner) {
    setAccessibleName(tr("Evidence"));
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kMargin);
    grid->setSpacing(Theme::kGap);
    auto* title = new QLabel(tr("Evidence"));
    title->setFont(Theme::words(18, QFont::DemiBold));
    facts_->setFont(Theme::numbers());
    facts_->setProperty("role", QStringLiteral("muted"));
    auto* alone = new QLabel(tr("f32 activations: the effect of the weights alone"));
    alone->setFont(Theme::words(11));
    alone->setProperty("role", QStringLiteral("caption"));
    auto* header = new QHBoxLayout;
    header->setSpacing(Theme::kMargin);
    header->addWidget(title);
    header->addWidget(facts_, 1);
    header->addWidget(alone);
    grid->addLayout(header, 0, 0, 1, 2);
    grid->setRowMinimumHeight(0, Theme::kControl);
    banner_->setObjectName(QStringLiteral("evidenceTrouble"));
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
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins({});
    column->setSpacing(4);
    choice_ = new EvidenceChoice(session_);
    column->addWidget(choice_, 1);
    column->addSpacing(Theme::kSpace);
    start_ = new QPushButton(tr("Evaluate"));
    start_->setObjectName(QStringLiteral("evidenceStart"));
    start_->setProperty("role", QStringLiteral("primary"));
    resume_ = new QPushButton(tr("Resume"));
    resume_->setObjectName(QStringLiteral("evidenceResume"));
    resume_->setToolTip(tr("Goes on behind the chunks that an evaluation of the same has finished before it was "
                           "stopped, also before the program was closed"));
    stop_ = new QPushButton(tr("Cancel"));
    stop_->setObjectName(QStringLiteral("evidenceStop"));
    status_ = new StatusLine("evidenceStatus");
    for (QWidget* widget : std::initializer_list<QWidget*>{resume_, start_, stop_, status_}) column->addWidget(widget);
    connect(choice_, &EvidenceChoice::changed, this, &EvidencePage::draw);
    connect(choice_, &EvidenceChoice::refused, this, [this](const QString& why) { status_->say(why, true); });
    connect(start_, &QPushButton::clicked, this, &EvidencePage::begin);
    connect(resume_, &QPushButton::clicked, this, &EvidencePage::resume);
    connect(stop_, &QPushButton::clicked, this, [this] { session_.cancelJobs(); });
    auto* card = new Card(tr("What is evaluated"));
    card->setFixedWidth(260);
    card->setBody(body);
    return card;
}

QWidget* EvidencePage::results() {
    guide_ = new EvidenceGuide;
    output_ = new EvidenceOutput;
    auto* side = new QWidget;
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins({});
    column->setSpacing(Theme::kSpace);
    tensors_ = new EvidenceTensors(session_, [this] { return choice_->settings(); });
    trust_ = new EvidenceTrust(session_);
    right_ = new QStackedLayout;
    right_->addWidget(guide_);
    right_->addWidget(output_);
    auto* first = new QWidget;
    first->setLayout(right_);
    views_ = new QStackedLayout;
    for (QWidget* view : std::initializer_list<QWidget*>{first, tensors_, trust_}) views_->addWidget(view);
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
    connect(guide_, &EvidenceGuide::sampleTextAsked, this, &EvidencePage::useSampleText);
    connect(guide_, &EvidenceGuide::textAsked, choice_, &EvidenceChoice::chooseText);
    return side;
}

QLayout* EvidencePage::tabs() {
    const std::tuple<const char*, QString, QString> all[] = {
        {"evidenceTabOutput", tr("Output"), tr("What each spec does to the model's output")},
        {"evidenceTabTensors", tr("Tensors"), tr("Which tensor breaks: the effect of each one alone")},
        {"evidenceTabTrust", tr("Trust"), tr("Whether figures of the weights rank as the output does")}};
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    auto* group = new QButtonGroup(this);
    for (const auto& [name, title, tip] : all) {
        auto* tab = new QToolButton;
        tab->setObjectName(QLatin1String(name));
        tab->setText(title);
        tab->setToolTip(tip);
        tab->setCheckable(true);
        tab->setChecked(group->buttons().isEmpty());
        group->addButton(tab, int(group->buttons().size()));
        row->addWidget(tab);
    }
    reference_ = new ElidedLabel(Qt::ElideRight);
    dress(*reference_, Theme::words(11), "warn");
    reference_->setObjectName(QStringLiteral("evidenceQuantizedReference"));
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
    status_->listenTo(task_);
    connect(&session_, &Session::modelChanged, this, &EvidencePage::modelChanged);
    connect(&session_, &Session::evidenceRestored, this, [this] {
        takeRestored();
        draw();
        Q_EMIT settled();
    });
    for (const auto signal : {&Session::specChanged, &Session::recipeChanged})
        connect(&session_, signal, choice_, &EvidenceChoice::followSpecs);
    connect(&session_, &Session::recipeChanged, this, [this] {
        if (waitsForRecipe_ && session_.recipe()->isMixed()) takeBegun();
    });
    connect(&task_, &Task::cancelled, this, [this] {
        showRecord();
        reach_ = shared_->keeps ? shared_->reach() : EvidenceReach();
        lookedUp_ = begun_;
        QString text =
            reach_.done == 0
                ? tr("Cancelled.")
                : tr("Cancelled after %1 of %2 chunks; Resume goes on from there.").arg(reach_.done).arg(reach_.chunks);
        if (record_) text += tr(" What is shown is the evaluation before.");
        status_->say(text);
    });
    for (const Task* task : {&task_, &judging_})
        connect(task, &Task::over, this, [this] {
            draw();
            Q_EMIT settled();
        });
    connect(&session_, &Session::importRequested, this, &EvidencePage::importIfAsked);
    modelChanged();
    importIfAsked();
}

/// Asks for figures of another program, where somebody has asked for that.
void EvidencePage::importIfAsked() {
    if (!session_.takeImportAsked() || !session_.model()) return;
    trustTab_->click();
    trust_->imports()->choose();
}

/// What is known of the output stands beside the figures of the weights on all pages.
void EvidencePage::shareEffects() {
    auto effects = std::make_shared<OutputEffects>();
    eval::addEffects(tensors_->rows(), *effects);
    eval::addEffects(trust_->imports()->columns(), *effects);
    if (record_) eval::addEffects(*record_, *effects);
    session_.setEffects(std::move(effects));
}

void EvidencePage::modelChanged() {
    for (Task* task : {&task_, &judging_, &looking_}) task->drop();
    record_.reset();
    lookedUp_ = {}, reach_ = {}, saysReach_ = false, waitsForRecipe_ = false;
    ground_ = {};
    banner_->say({});
    status_->say({});
    showRecord();
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
    session_.setOutputText({settings.path, settings.ids, settings.context, settings.chunks, settings.scored,
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
        choice_->allowTexts(texts), guide_->allowTexts(texts);
        choice_->takesScored(!ground_.isEncoder), guide_->setEncoder(ground_.isEncoder);
        tensors_->refuse(ground_.isEncoder ? tr("This model is an encoder: it predicts no tokens, so single tensors "
                                                "have no KL. The tab Output compares its embeddings.")
                                           : QString());
        if (ground_.trouble)
            offer(*ground_.trouble);
        else if (!ground_.noTokenizer.empty())
            offer({ground_.noTokenizer, EvidenceTrouble::Remedy::TokenIds});
    });
}

void EvidencePage::draw() {
    const bool busy = running();
    const EvidenceSettings settings = choice_->settings();
    tell();
    lookUp();
    const auto* focus = QApplication::focusWidget();
    const bool focused =
        focus && (focus == start_ || focus == resume_ || focus == stop_ || guide_->isAncestorOf(focus));
    start_->setVisible(!busy);
    resume_->setVisible(canResume());
    stop_->setVisible(busy);
    if (focused && (busy || record_ || canResume())) // what had the focus is hidden
        (busy ? stop_ : canResume() ? resume_ : start_)->setFocus();
    start_->setEnabled(session_.model() && !ground_.trouble && settings.hasText() && settings.hasChanges());
    start_->setToolTip(!settings.hasText()      ? tr("Choose a text first")
                       : !settings.hasChanges() ? tr("Tick a spec first")
                                                : QString());
    guide_->setSampleText(!session_.sampleText().isEmpty());
    const bool ofEncoder = busy ? ground_.isEncoder : record_ && !record_->embeddings.empty();
    if (ofEncoder) embeddings();
    right_->setCurrentIndex(!record_ && !busy ? 0 : ofEncoder ? kOfEmbeddings : kOfTokens);
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

QWidget* createEvidencePage(Session& session, QWidget* parent) { return new EvidencePage(session, parent); }

} // namespace qs::gui
