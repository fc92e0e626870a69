// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_page.h"

#include "app/gui/page.h"
#include "app/gui/pages/plan/plan_budget.h"
#include "app/gui/pages/plan/plan_charts.h"
#include "app/gui/pages/plan/plan_choice.h"
#include "app/gui/pages/plan/plan_speed.h"
#include "app/gui/pages/plan/plan_start.h"
#include "app/gui/pages/plan/plan_time.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/status_line.h"
#include "core/session/kept_plan.h"

#include <QGridLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStackedLayout>

namespace qs::gui {
namespace {

constexpr double kPlanWorkAtOnce = double(1 << 28); ///< elements x specs; smaller models are planned by themselves
constexpr std::size_t kPlanRowsAtOnce = 8000;       ///< tensors x specs, the second limit
constexpr int kPlanSettleMs = 150;
constexpr const char* kPlanKept = "plan"; ///< name in session files
constexpr std::size_t kMostChoices = 32;  ///< specs to choose from

} // namespace

PlanPage::PlanPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), solver_(session),
      measured_(session.tasks(), [this] { return results_->draws(); }), stack_(new QStackedLayout(this)),
      empty_(new EmptyState(session)), facts_(named(new ElidedLabel(Qt::ElideRight), "planFacts")) {
    setAccessibleName(tr("Plan"));
    auto* content = new QWidget;
    auto* grid = spaced(new QGridLayout(content), Theme::kGap, Theme::kPageMargins);
    auto* title = dressed(new QLabel(tr("Plan")), Theme::words(18, QFont::DemiBold));
    dress(*facts_, Theme::numbers(), "muted");
    facts_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* header = spaced(new QHBoxLayout, Theme::kMargin);
    header->addWidget(title);
    header->addWidget(facts_, 1);
    grid->addLayout(header, 0, 0, 1, 2);
    grid->setRowMinimumHeight(0, Theme::kControl);
    addPart([this, grid] { grid->addWidget(sidebar(), 1, 0); });
    addPart([this, grid] { grid->addWidget(results(), 1, 1); });
    addPart([this] {
        connectWork();
        connectSession();
    });
    grid->setColumnStretch(1, 1);
    grid->setRowStretch(1, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);
}

QWidget* PlanPage::sidebar() {
    auto* body = new QWidget;
    auto* column = spaced(new QVBoxLayout(body), 4);
    choice_ = new PlanChoice(session_);
    startLine_ = new PlanStartLine(session_);
    column->addWidget(startLine_);
    column->addWidget(choice_, 1);
    start_ = named(new QPushButton(tr("Plan")), "planStart", "primary");
    status_ = new StatusLine("planStatus");
    column->addSpacing(4);
    addWidgets(*column, {start_, status_});
    connect(start_, &QPushButton::clicked, this, &PlanPage::ground);
    connect(choice_, &PlanChoice::changed, this, [this] { settle_.start(); });
    connect(choice_, &PlanChoice::refused, this, [this](const QString& why) { status_->say(why, true); });
    auto* card = new Card(tr("What is planned"));
    card->setFixedWidth(260);
    card->setBody(body);
    return card;
}

QWidget* PlanPage::results() {
    results_ = new PlanResults(session_);
    connect(results_->budget(), &PlanBudget::changed, this, [this](double bpw) {
        bpw_ = bpw;
        solve();
    });
    connect(results_->time(), &PlanTime::changed, this, &PlanPage::solve);
    connect(results_->speed(), &PlanSpeed::mapped, this, &PlanPage::publish);
    connect(results_, &PlanResults::measureAsked, this, &PlanPage::measure);
    connect(results_, &PlanResults::useAsked, this, &PlanPage::use);
    connect(results_, &PlanResults::exportAsked, this, [this] {
        use();
        session_.showPage(kExportPage);
    });
    return results_;
}

void PlanPage::connectWork() {
    settle_.setSingleShot(true);
    settle_.setInterval(kPlanSettleMs);
    connect(&settle_, &QTimer::timeout, this, &PlanPage::ask);
    for (const Task* task : {&solver_.grounding(), &solver_.solving(), &measured_.task()}) {
        status_->listenTo(*task);
        connect(task, &Task::over, this, &PlanPage::draw);
    }
    connect(&solver_, &PlanSolver::grounded, this, &PlanPage::solve);
    connect(&solver_, &PlanSolver::askedAgain, this, &PlanPage::solve);
    connect(&solver_, &PlanSolver::answered, this, qOverload<bool, bool>(&PlanPage::take));
    connect(&solver_, &PlanSolver::banded, results_->charts(), &PlanCharts::setBand);
    connect(&solver_.grounding(), &Task::cancelled, this, [this] { status_->say(tr("Cancelled.")); });
    connect(&measured_, &MeasuredPlans::began, this, &PlanPage::draw);
    connect(&measured_, &MeasuredPlans::grew, this, [this] {
        results_->charts()->setMeasured(measured_.all());
        results_->speed()->setAnswer(answer(), measured_.last());
        publish();
        keep();
    });
    connect(&measured_.task(), &Task::cancelled, this, [this] {
        const QString kept = measured_.kept();
        status_->say(kept.isEmpty() ? tr("Cancelled") : tr("Cancelled; %1. Measure goes on from there.").arg(kept));
    });
}

void PlanPage::connectSession() {
    connect(&session_, &Session::modelChanged, this, &PlanPage::modelChanged);
    connect(&session_, &Session::recipeChanged, this, &PlanPage::recipeChanged);
    connect(&session_, &Session::specChanged, this, &PlanPage::recipeChanged);
    connect(&session_.decision(), &Decision::budgetChanged, this, &PlanPage::budgetChanged);
    connect(&session_.decision(), &Decision::startChanged, this, &PlanPage::startChanged);
    connect(&session_.output(), &ModelOutput::textChanged, this, [this] {
        choice_->followSensitivities();
        if (solver_.ground() && isVisible()) settle_.start();
        draw();
    });
    modelChanged();
}

bool PlanPage::busy() const {
    return settle_.isActive() || solver_.busy() || measured_.running() || restoring_.running() ||
           results_->time()->busy() || results_->speed()->busy();
}

void PlanPage::modelChanged() {
    solver_.drop();
    measured_.clear();
    restoring_.drop();
    settle_.stop();
    bpw_ = session_.decision().budget();
    fresh_ = true;
    status_->say({});
    const bool has = session_.model() && !session_.weights().empty();
    if (!session_.model())
        empty_->askForModel();
    else
        empty_->setState(tr("This file holds no float tensor of rank 2 or more: nothing to plan."),
                         tr("Open another one"), kStartPage);
    stack_->setCurrentIndex(has ? 1 : 0);
    choice_->allowObjective({});
    startLine_->setAnswer(nullptr);
    results_->clear();
    draw();
    if (isVisible()) showEvent(nullptr);
}

void PlanPage::showEvent(QShowEvent* event) {
    if (event) PageInParts::showEvent(event);
    if (stack_->currentIndex() == 0) return;
    choice_->followBackends();
    if (!std::exchange(fresh_, false)) return recipeChanged();
    choice_->followSpecs();
    settle_.stop(); // what follows asks
    if (takeRestored()) return;
    if (session_.decision().start().recipe) return startChanged();
    double work = 0;
    for (const auto* tensor : session_.weights()) work += double(tensor->elements);
    const std::size_t specs = choice_->settings().specs.size();
    if (work * double(specs) <= kPlanWorkAtOnce && session_.weights().size() * specs <= kPlanRowsAtOnce)
        ground();
    else
        draw();
}

void PlanPage::ask() {
    if (stack_->currentIndex() == 0) return;
    if (solver_.isFresh(choice_->settings()))
        solve();
    else if (solver_.ground())
        ground();
    else
        draw();
}

void PlanPage::ground() {
    settle_.stop();
    const PlanSettings settings = choice_->settings();
    if (settings.specs.size() < 2 || settings.specs.size() > kMostChoices)
        return status_->say(tr("A plan chooses between 2 to %1 specs: tick more or fewer.").arg(kMostChoices), true);
    status_->say({});
    solver_.makeGround(settings, choice_->backends());
    draw();
}

void PlanPage::solve() {
    solver_.solve([this] {
        PlanTime& time = *results_->time();
        PlanQuestion question;
        question.recipe = session_.recipe(), question.bpw = bpw_, question.start = session_.decision().start();
        question.latencies = time.latencies(), question.ns = time.ns();
        time.setSpecs(solver_.ground()->settings.specs);
        return question;
    });
}

void PlanPage::take(bool isLast, bool isSame) {
    results_->setAnswer(answer(), isLast, isSame, measured_.last());
    startLine_->setAnswer(answer().get());
    QStringList remarks;
    for (const auto& remark : answer()->options->remarks) remarks << QString::fromStdString(remark);
    status_->say(remarks.value(0));
    status_->setToolTip(remarks.join(u'\n'));
    publish();
    keep();
}

void PlanPage::publish() {
    if (answer()) session_.decision().setPlan(recordOf(*answer(), measuredNow(), results_->speed()->map()));
}

void PlanPage::recipeChanged() {
    if (stack_->currentIndex() == 0 || !isVisible() ||
        (solver_.ground() && solver_.ground()->model != session_.model()))
        return;
    settle_.stop();
    ask();
    draw();
}

void PlanPage::budgetChanged() {
    if (session_.decision().budget() == bpw_) return; // it was changed here
    bpw_ = session_.decision().budget();
    results_->budget()->follow();
    solve();
}

/// Its specs are to choose from, and it stands beside the plan; its rules lock nothing.
void PlanPage::startChanged() {
    const PlanStart& start = session_.decision().start();
    startLine_->setAnswer(nullptr);
    if (stack_->currentIndex() == 0 || fresh_ || restoring_.running()) return; // it is asked for when the page is shown
    if (!start.recipe) return solve();
    choice_->chooseFrom(start.recipe->specs);
    ground();
}

bool PlanPage::isInUse() const {
    const RuleLines& lines = session_.recipe()->lines;
    return answer() && session_.keepsRest() && areSame(plannedLines(*answer(), lines).planned, lines.planned);
}

void PlanPage::use() {
    if (!answer()) return;
    session_.decision().setLayout(QLatin1String(answer()->options->layout->id)); // others store other sizes
    if (isInUse()) return;
    session_.setRules(plannedLines(*answer(), session_.recipe()->lines), true);
    status_->say(tr("The recipe of the session is this plan. Undo takes it back."));
    draw();
}

const plan::MeasuredPlan* PlanPage::measuredNow() const { return answer() ? measured_.of(*answer()) : nullptr; }

void PlanPage::measure() {
    if (!answer()) return;
    OutputText text = session_.output().text();
    if (text.path.empty()) text.path = session_.sampleText().toStdString();
    if (text.path.empty()) return session_.showPage(kEvidencePage);
    MeasureRequest request{answer(), text, 0, {}, 0};
    if (const auto* now = measuredNow(); now && MeasuredPlans::canGoOn(*now, *answer())) {
        request.before = *now;
        if (now->proof->isWhole()) results_->chooseMoreThan(now->proof->draws());
    } else {
        results_->openChance();
    }
    status_->say({});
    measured_.measure(std::move(request));
}

void PlanPage::keep() {
    KeptPlan kept;
    const PlanGround& ground = *solver_.ground();
    const PlanSettings& settings = ground.settings;
    kept.specs = settings.specs, kept.layout = settings.layout, kept.objective = settings.objective;
    if (!settings.target.empty()) kept.target = settings.target, kept.targetRows = std::uint64_t(settings.targetRows);
    kept.groups = settings.groups, kept.limits = settings.limits, kept.bpw = bpw_, kept.ns = results_->time()->ns();
    kept.lossChunks = ground.lossChunks, kept.measured = measured_.all();
    kept.startName = session_.decision().start().name.toStdString(),
    kept.startRules = session_.decision().start().rules.toStdString();
    session_.keep(QLatin1String(kPlanKept), [kept = std::move(kept), losses = ground.losses]() mutable {
        KeptPlan whole = kept;
        whole.losses = losses->named();
        return keptPlan(whole);
    });
}

bool PlanPage::takeRestored() {
    const auto text = session_.restored(QLatin1String(kPlanKept));
    if (!text) return false;
    restoring_.run(
        {}, [text](const Job&) { return planKept(*text); },
        [this](Result<KeptPlan> kept) {
            if (kept) return take(std::move(*kept));
            status_->say(errorSentence(kept.error()), true);
            session_.decision().start().recipe ? startChanged() : ground();
        });
    return true;
}

void PlanPage::take(KeptPlan kept) {
    choice_->allowObjective(kept.objective);
    choice_->setSettings({kept.specs, kept.layout, kept.objective, kept.groups, kept.target.value_or(std::string()),
                          std::int64_t(kept.targetRows.value_or(1)), kept.limits});
    auto before = std::make_shared<PlanGround>();
    before->model = session_.model(), before->objective = plan::findObjective(kept.objective);
    before->lossChunks = kept.lossChunks;
    before->losses = std::make_shared<const plan::Losses>(before->model, kept.losses);
    if (!before->objective->how) before->nmse = before->losses;
    solver_.setGround(std::move(before));
    measured_.set(std::move(kept.measured));
    results_->charts()->setMeasured(measured_.all());
    if (!bpw_) session_.decision().setBudget(bpw_ = kept.bpw);     // of a file whose history has none
    if (session_.decision().start().recipe) return startChanged(); // somebody has chosen another since
    {
        const QSignalBlocker quiet(&session_.decision()); // the ticks are those of the file
        session_.startPlanFrom(QString::fromStdString(kept.startName), QString::fromStdString(kept.startRules));
    }
    startLine_->setAnswer(nullptr);
    results_->time()->setNs(kept.ns);
    ground();
}

void PlanPage::draw() {
    const bool has = stack_->currentIndex() == 1;
    PlanResults::State state;
    state.answer = answer().get(), state.now = measuredNow();
    state.shown = state.now ? state.now : measured_.last();
    state.isGrounding = solver_.grounding().running(), state.isMeasuring = measured_.running();
    state.hasText = !session_.output().text().path.empty() || !session_.sampleText().isEmpty();
    state.goesOn = state.hasText && state.now && MeasuredPlans::canGoOn(*state.now, *answer());
    state.isInUse = isInUse();
    start_->setVisible(has && !solver_.isFresh(choice_->settings()) && !state.isGrounding);
    results_->draw(state);
    facts_->setText(answer() ? tr("%1 units × %2 specs   layout %3   %4 ms")
                                   .arg(answer()->options->units.size())
                                   .arg(answer()->options->choices)
                                   .arg(QLatin1String(answer()->options->layout->id))
                                   .arg(answer()->milliseconds, 0, 'f', 1)
                             : QString());
}

QWidget* createPlanPage(Session& session, QWidget* parent) { return new PlanPage(session, parent); }

} // namespace qs::gui
