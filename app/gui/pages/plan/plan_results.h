// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the page shows of a plan: budgets, charts, what each tensor becomes, chance, speed, and what can be done with it.

#include "app/gui/pages/plan/plan_work.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QLayout;
class QPushButton;
class QStackedLayout;

namespace qs::gui {

class PlanBudget;
class PlanChance;
class PlanCharts;
class PlanSpeed;
class PlanTime;
class PlanUnits;
class Session;

class PlanResults : public QWidget {
    Q_OBJECT
public:
    explicit PlanResults(Session& session);
    PlanBudget* budget() const { return budget_; }
    PlanCharts* charts() const { return charts_; }
    PlanUnits* units() const { return units_; }
    PlanChance* chance() const { return chance_; }
    PlanTime* time() const { return time_; }
    PlanSpeed* speed() const { return speed_; }

    std::size_t draws() const;              ///< random plans of each kind to measure
    void chooseMoreThan(std::size_t draws); ///< as far as there are such choices
    void openChance();
    void clear(); ///< for another model
    /// `isLast`, `isSame`: as PlanSolver::answered(). `measured`: the plan that was measured last; null: none.
    void setAnswer(const std::shared_ptr<const PlanAnswer>& answer, bool isLast, bool isSame,
                   const plan::MeasuredPlan* measured);

    struct State {
        const PlanAnswer* answer = nullptr;        ///< null: nothing is planned
        const plan::MeasuredPlan* now = nullptr;   ///< this very plan; null: it was not measured
        const plan::MeasuredPlan* shown = nullptr; ///< in the tab of chance
        bool isGrounding = false, isMeasuring = false;
        bool hasText = false; ///< that a plan can be measured on
        bool goesOn = false;  ///< more draws can join those of `now`
        bool isInUse = false; ///< the recipe of the session is this plan
    };
    void draw(const State& state);

Q_SIGNALS:
    void measureAsked();
    void useAsked();
    void exportAsked();

private:
    QLayout* buttons();
    void drawButtons(const State& state);

    Session& session_;
    QStackedLayout* views_;
    PlanBudget* budget_;
    PlanCharts* charts_;
    PlanUnits* units_;
    PlanChance* chance_;
    PlanTime* time_;
    PlanSpeed* speed_;
    QLabel* verdict_;
    QComboBox* draws_;
    QPushButton *measure_ = nullptr, *stop_ = nullptr, *use_ = nullptr, *export_ = nullptr;
};

} // namespace qs::gui
