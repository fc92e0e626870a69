// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_results.h"

#include "app/gui/pages/plan/plan_budget.h"
#include "app/gui/pages/plan/plan_chance.h"
#include "app/gui/pages/plan/plan_charts.h"
#include "app/gui/pages/plan/plan_speed.h"
#include "app/gui/pages/plan/plan_time.h"
#include "app/gui/pages/plan/plan_units.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/tab_row.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyle>
#include <QToolButton>

namespace qs::gui {

PlanResults::PlanResults(Session& session)
    : session_(session), views_(new QStackedLayout), budget_(new PlanBudget), charts_(new PlanCharts),
      units_(new PlanUnits(session)), chance_(new PlanChance), time_(new PlanTime(session)),
      speed_(new PlanSpeed(session)), verdict_(new ElidedLabel(Qt::ElideRight)), draws_(new QComboBox) {
    auto* column = spaced(new QVBoxLayout(this), Theme::kSpace);
    addWidgets(*views_, {units_, chance_, speed_});
    addWidgets(*column, {budget_, time_});
    column->addWidget(charts_, 1);
    column->addLayout(buttons());
    column->addLayout(views_, 1);
    connect(budget_, &PlanBudget::chosen, &session_.decision(), &Decision::setBudget);
    connect(charts_, &PlanCharts::budgetClicked, budget_, &PlanBudget::setBpw);
    connect(speed_, &PlanSpeed::pointClicked, this,
            [this](const plan::SpeedPoint& point) { time_->take(point.where, point.m, point.ns); });
}

QLayout* PlanResults::buttons() {
    auto* row = spaced(new QHBoxLayout, 4);
    const Tab tabs[] = {
        {"planTabUnits", tr("Tensors"), tr("What each tensor becomes")},
        {"planTabChance", tr("Against chance"), tr("The measured plan beside uniform specs and random plans")},
        {"planTabSpeed", tr("Speed"), tr("Measured time, error and size of every spec on every backend")}};
    connect(addTabs(*row, tabs, this), &QButtonGroup::idClicked, views_, &QStackedLayout::setCurrentIndex);
    verdict_->setObjectName(QStringLiteral("planVerdict"));
    verdict_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    row->addSpacing(Theme::kSpace);
    row->addWidget(verdict_, 1);
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
    measure_ = add("planMeasure", tr("Measure"), {}, &PlanResults::measureAsked);
    stop_ = add("planStop", tr("Cancel"), tr("Stop measuring"), [this] { session_.cancelJobs(); });
    use_ = add("planUse", tr("Use this plan"), tr("Make it the recipe of the session: every page shows it"),
               &PlanResults::useAsked);
    use_->setProperty("role", QStringLiteral("primary"));
    export_ = add("planExport", tr("Export…"), tr("Use this plan, and write it on the page Export"),
                  &PlanResults::exportAsked);
    return row;
}

std::size_t PlanResults::draws() const { return std::size_t(draws_->currentData().toULongLong()); }

void PlanResults::chooseMoreThan(std::size_t known) {
    while (draws() <= known && draws_->currentIndex() + 1 < draws_->count())
        draws_->setCurrentIndex(draws_->currentIndex() + 1);
}

void PlanResults::openChance() { findChild<QToolButton*>(QStringLiteral("planTabChance"))->click(); }

void PlanResults::clear() {
    charts_->setBand({});
    charts_->setAnswer(nullptr);
    charts_->setMeasured({});
    units_->setAnswer(nullptr);
    budget_->setAnswer(nullptr);
    time_->setNs({});
    time_->setPlan(nullptr, nullptr);
    time_->follow();
    speed_->setAnswer(nullptr, nullptr);
}

void PlanResults::setAnswer(const std::shared_ptr<const PlanAnswer>& answer, bool isLast, bool isSame,
                            const plan::MeasuredPlan* measured) {
    if (isLast) budget_->setAnswer(answer.get());
    if (!isSame) charts_->setBand({});
    charts_->setAnswer(answer);
    units_->setAnswer(answer);
    time_->setPlan(&answer->plan, answer->options.get());
    speed_->setAnswer(answer, measured);
}

void PlanResults::draw(const State& state) {
    const auto& [answer, now, shown, isGrounding, isMeasuring, hasText, goesOn, isInUse] = state;
    drawButtons(state);
    const QString empty = answer        ? QString()
                          : isGrounding ? tr("Measuring what each spec loses…")
                                        : tr("Nothing is planned yet: press Plan to measure what each spec "
                                             "costs each tensor.");
    charts_->setMessage(empty);
    units_->setMessage(empty);
    chance_->setMeasured(shown, shown && answer ? shown->plan().mixture.bpw(*answer->options) : 0);
    const bool inside = now && PlanChance::isInside(*now->proof);
    const bool lacks = answer && !(now && now->proof->isWhole());
    verdict_->setText(now ? PlanChance::briefVerdict(*now->proof) : answer ? tr("KL not measured") : QString());
    verdict_->setProperty("role", inside || lacks ? QStringLiteral("warn") : QStringLiteral("muted"));
    verdict_->style()->polish(verdict_);
}

void PlanResults::drawButtons(const State& state) {
    const auto& [answer, now, shown, isGrounding, isMeasuring, hasText, goesOn, isInUse] = state;
    measure_->setVisible(!isMeasuring);
    stop_->setVisible(isMeasuring);
    const bool isWhole = goesOn && now->proof->isWhole();
    measure_->setText(isWhole ? tr("More draws") : hasText ? tr("Measure") : tr("Choose a text…"));
    measure_->setToolTip(
        isWhole ? tr("Goes on drawing random plans in the background: p and the band follow")
        : goesOn
            ? tr("Goes on: %1 of %2 plans are measured").arg(now->proof->measured()).arg(now->proof->contenders.size())
        : hasText ? tr("KL of the plan on text that no loss was measured on, beside uniform specs, rules "
                       "of thumb and random plans")
                  : tr("A plan is measured on the text of page Evidence"));
    for (auto* button : {measure_, use_, export_}) button->setEnabled(answer != nullptr);
    if (isWhole) measure_->setEnabled(now->proof->draws() < draws_->itemData(draws_->count() - 1).toULongLong());
    draws_->setEnabled(answer && hasText);
    use_->setEnabled(answer && !isInUse);
    use_->setText(isInUse ? tr("In use") : tr("Use this plan"));
}

} // namespace qs::gui
