// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_page.h"

#include "app/gui/page.h"
#include "app/gui/pages/plan/plan_budget.h"
#include "app/gui/pages/plan/plan_chance.h"
#include "app/gui/pages/plan/plan_charts.h"
#include "app/gui/pages/plan/plan_choice.h"
#include "app/gui/pages/plan/plan_speed.h"
#include "app/gui/pages/plan/plan_start.h"
#include "app/gui/pages/plan/plan_time.h"
#include "app/gui/pages/plan/plan_units.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QGridLayout>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyle>
#include <QToolButton>

namespace qs::gui {
namespace {

constexpr double kPlanWorkAtOnce = double(1 << 28); ///< elements x specs; smaller models are planned by themselves
constexpr std::size_t kPlanRowsAtOnce = 8000;       ///< tensors x specs, the second limit
constexpr int kPlanSettleMs = 150;

} // namespace

PlanPage::PlanPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), grounding_(&session.tasks()), measuring_(&session.tasks()),
      stack_(new QStackedLayout(this)), empty_(new EmptyState(session)), facts_(new ElidedLabel(Qt::ElideRight)) {
    setAccessibleName(tr("Plan"));
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kMargin);
    grid->setSpacing(Theme::kGap);
    auto* title = new QLabel(tr("Plan"));
    title->setFont(Theme::words(18, QFont::DemiBold));
    facts_->setObjectName(QStringLiteral("planFacts"));
    facts_->setFont(Theme::numbers());
    facts_->setProperty("role", QStringLiteral("muted"));
    facts_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* header = new QHBoxLayout;
    header->setSpacing(Theme::kMargin);
    header->addWidget(title);
    header->addWidget(facts_, 1);
    grid->addLayout(header, 0, 0, 1, 2);
    grid->setRowMinimumHeight(0, Theme::kControl);
    addPart([this, grid] { grid->addWidget(sidebar(), 1, 0); });
    addPart([this, grid] { grid->addWidget(results(), 1, 1); });
    addPart([this] { connectSession(); });
    grid->setColumnStretch(1, 1);
    grid->setRowStretch(1, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);
}

QWidget* PlanPage::sidebar() {
    auto* body = new QWidget;
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins({});
    column->setSpacing(4);
    choice_ = new PlanChoice(session_);
    startLine_ = new PlanStartLine(session_);
    column->addWidget(startLine_);
    column->addWidget(choice_, 1);
    start_ = new QPushButton(tr("Plan"));
    start_->setObjectName(QStringLiteral("planStart"));
    start_->setProperty("role", QStringLiteral("primary"));
    status_ = new StatusLine("planStatus");
    column->addSpacing(4);
    column->addWidget(start_);
    column->addWidget(status_);
    connect(start_, &QPushButton::clicked, this, &PlanPage::ground);
    connect(choice_, &PlanChoice::changed, this, [this] { settle_.start(); });
    connect(choice_, &PlanChoice::refused, this, [this](const QString& why) { status_->say(why, true); });
    auto* card = new Card(tr("What is planned"));
    card->setFixedWidth(260);
    card->setBody(body);
    return card;
}

QLayout* PlanPage::buttons() {
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    auto* group = new QButtonGroup(this);
    const std::tuple<const char*, QString, QString> tabs[] = {
        {"planTabUnits", tr("Tensors"), tr("What each tensor becomes")},
        {"planTabChance", tr("Against chance"), tr("The measured plan beside uniform specs and random plans")},
        {"planTabSpeed", tr("Speed"), tr("Measured time, error and size of every spec on every backend")}};
    for (const auto& [name, title, tip] : tabs) {
        auto* tab = new QToolButton;
        tab->setObjectName(QLatin1String(name));
        tab->setText(title);
        tab->setToolTip(tip);
        tab->setCheckable(true);
        tab->setChecked(group->buttons().isEmpty());
        group->addButton(tab, int(group->buttons().size()));
        row->addWidget(tab);
    }
    connect(group, &QButtonGroup::idClicked, views_, &QStackedLayout::setCurrentIndex);
    verdict_ = new ElidedLabel(Qt::ElideRight);
    verdict_->setObjectName(QStringLiteral("planVerdict"));
    verdict_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    row->addSpacing(Theme::kSpace);
    row->addWidget(verdict_, 1);
    draws_ = new QComboBox;
    draws_->setObjectName(QStringLiteral("planDraws"));
    draws_->setAccessibleName(tr("Random plans of each kind"));
    draws_->setToolTip(tr("Random plans of each kind to measure: 19 can show p = 0.05, 99 show 0.01"));
    for (const int draws : {int(plan::kUsualDraws), 39, 99, 199, 499, 999})
        draws_->addItem(tr("%1 draws").arg(draws), draws);
    const auto add = [&](const char* name, const QString& text, const QString& tip, auto act) {
        auto* button = new QPushButton(text);
        button->setObjectName(QLatin1String(name));
        button->setToolTip(tip);
        connect(button, &QPushButton::clicked, this, act);
        row->addWidget(button);
        return button;
    };
    row->addWidget(draws_);
    measure_ = add("planMeasure", tr("Measure"), {}, [this] { measure(); });
    stop_ = add("planStop", tr("Cancel"), tr("Stop measuring"), [this] { session_.cancelJobs(); });
    use_ = add("planUse", tr("Use this plan"), tr("Make it the recipe of the session: every page shows it"),
               [this] { use(); });
    use_->setProperty("role", QStringLiteral("primary"));
    export_ = add("planExport", tr("Export…"), tr("Use this plan, and write it on the page Export"), [this] {
        use();
        session_.decision().setLayout(QLatin1String(answer_->options->layout->id));
        session_.showPage(kExportPage);
    });
    return row;
}

QWidget* PlanPage::results() {
    auto* side = new QWidget;
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins({});
    column->setSpacing(Theme::kSpace);
    budget_ = new PlanBudget;
    charts_ = new PlanCharts;
    units_ = new PlanUnits(session_);
    chance_ = new PlanChance;
    time_ = new PlanTime(session_);
    speed_ = new PlanSpeed(session_);
    views_ = new QStackedLayout;
    for (QWidget* view : std::initializer_list<QWidget*>{units_, chance_, speed_}) views_->addWidget(view);
    column->addWidget(budget_);
    column->addWidget(time_);
    column->addWidget(charts_, 1);
    column->addLayout(buttons());
    column->addLayout(views_, 1);
    const auto ask = [this](double bpw) {
        bpw_ = bpw;
        solve();
    };
    connect(budget_, &PlanBudget::changed, this, ask);
    connect(budget_, &PlanBudget::chosen, &session_.decision(), &Decision::setBudget);
    connect(charts_, &PlanCharts::budgetClicked, budget_, &PlanBudget::setBpw);
    connect(time_, &PlanTime::changed, this, &PlanPage::solve);
    connect(speed_, &PlanSpeed::mapped, this, &PlanPage::publish);
    connect(speed_, &PlanSpeed::pointClicked, this,
            [this](const plan::SpeedPoint& point) { time_->take(point.where, point.m, point.ns); });
    return side;
}

void PlanPage::connectSession() {
    settle_.setSingleShot(true);
    settle_.setInterval(kPlanSettleMs);
    connect(&settle_, &QTimer::timeout, this, &PlanPage::ask);
    for (const Task* task : {&grounding_, &solving_, &measuring_}) {
        status_->listenTo(*task);
        connect(task, &Task::over, this, &PlanPage::draw);
    }
    connect(&solving_, &Task::over, this, [this] {
        if (std::exchange(again_, false)) solve();
    });
    connect(&grounding_, &Task::cancelled, this, [this] { status_->say(tr("Cancelled.")); });
    connect(&measuring_, &Task::cancelled, this, [this] {
        status_->say(drawn_ > 0 ? tr("Cancelled. %1 draws of each kind are kept.").arg(drawn_)
                                : tr("Cancelled: this plan was not measured."));
    });
    connect(&session_, &Session::modelChanged, this, &PlanPage::modelChanged);
    connect(&session_, &Session::recipeChanged, this, &PlanPage::recipeChanged);
    connect(&session_, &Session::specChanged, this, &PlanPage::recipeChanged);
    connect(&session_.decision(), &Decision::budgetChanged, this, &PlanPage::budgetChanged);
    connect(&session_.decision(), &Decision::startChanged, this, &PlanPage::startChanged);
    connect(&session_.output(), &ModelOutput::textChanged, this, [this] {
        choice_->followSensitivities();
        if (ground_ && isVisible()) settle_.start();
        draw();
    });
    modelChanged();
}

bool PlanPage::busy() const {
    return settle_.isActive() || again_ || grounding_.running() || solving_.running() || banding_.running() ||
           measuring_.running() || restoring_.running() || time_->busy() || speed_->busy();
}

void PlanPage::modelChanged() {
    for (Task* task : {&grounding_, &solving_, &banding_, &measuring_, &restoring_}) task->drop();
    settle_.stop();
    ground_.reset(), groundOf_.reset(), answer_.reset(), measured_.clear();
    bpw_ = session_.decision().budget();
    again_ = false, fresh_ = true;
    status_->say({});
    const bool has = session_.model() && !session_.weights().empty();
    if (!session_.model())
        empty_->askForModel();
    else
        empty_->setState(tr("This file holds no float tensor of rank 2 or more: nothing to plan."),
                         tr("Open another one"), kStartPage);
    stack_->setCurrentIndex(has ? 1 : 0);
    choice_->allowObjective({});
    charts_->setBand({});
    charts_->setAnswer(nullptr);
    charts_->setMeasured({});
    units_->setAnswer(nullptr);
    budget_->setAnswer(nullptr);
    startLine_->setAnswer(nullptr);
    time_->setNs({});
    time_->setPlan(nullptr, nullptr);
    time_->follow();
    speed_->setAnswer(nullptr, nullptr);
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

void PlanPage::draw() {
    const bool has = stack_->currentIndex() == 1;
    const bool isMeasuring = measuring_.running();
    const auto& text = session_.output().text();
    const bool hasText = !text.path.empty() || !session_.sampleText().isEmpty();
    start_->setVisible(has && (!ground_ || !isGroundFresh()) && !grounding_.running());
    measure_->setVisible(!isMeasuring);
    stop_->setVisible(isMeasuring);
    const auto* now = measuredNow();
    const bool goesOn = hasText && now && canGoOn(*now);
    measure_->setText(goesOn ? tr("More draws") : hasText ? tr("Measure") : tr("Choose a text…"));
    measure_->setToolTip(goesOn ? tr("Goes on drawing random plans in the background: p and the band follow")
                         : hasText
                             ? tr("KL of the plan on text that no loss was measured on, beside uniform specs, rules "
                                  "of thumb and random plans")
                             : tr("A plan is measured on the text of page Evidence"));
    for (auto* button : {measure_, use_, export_}) button->setEnabled(answer_ != nullptr);
    if (goesOn) measure_->setEnabled(now->proof->draws() < draws_->itemData(draws_->count() - 1).toULongLong());
    draws_->setEnabled(answer_ && hasText);
    const bool used = isInUse();
    use_->setEnabled(answer_ && !used);
    use_->setText(used ? tr("In use") : tr("Use this plan"));
    const QString empty = answer_                ? QString()
                          : grounding_.running() ? tr("Measuring what each spec loses…")
                                                 : tr("Nothing is planned yet: press Plan to measure what each spec "
                                                      "costs each tensor.");
    charts_->setMessage(empty);
    units_->setMessage(empty);
    const auto* shown = now ? now : measured_.empty() ? nullptr : &measured_.back();
    chance_->setMeasured(shown, shown && answer_ ? shown->plan().mixture.bpw(*answer_->options) : 0);
    const bool inside = now && PlanChance::isInside(*now->proof);
    verdict_->setText(now ? PlanChance::briefVerdict(*now->proof) : answer_ ? tr("KL not measured") : QString());
    verdict_->setProperty("role", inside || (answer_ && !now) ? QStringLiteral("warn") : QStringLiteral("muted"));
    verdict_->style()->polish(verdict_);
    facts_->setText(answer_ ? tr("%1 units × %2 specs   layout %3   %4 ms")
                                  .arg(answer_->options->units.size())
                                  .arg(answer_->options->choices)
                                  .arg(QLatin1String(answer_->options->layout->id))
                                  .arg(answer_->milliseconds, 0, 'f', 1)
                            : QString());
}

QWidget* createPlanPage(Session& session, QWidget* parent) { return new PlanPage(session, parent); }

} // namespace qs::gui
