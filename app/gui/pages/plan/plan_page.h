// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One of several specs for every tensor under a budget, exact, with locks and groups, tested against chance, and made
// the recipe of the session.

#include "app/gui/page_in_parts.h"
#include "app/gui/pages/plan/plan_measure.h"
#include "app/gui/task.h"

#include <QTimer>

class QComboBox;
class QLabel;
class QPushButton;
class QStackedLayout;

namespace qs::gui {

class EmptyState;
class PlanBudget;
class PlanChance;
class PlanCharts;
class PlanChoice;
class PlanSpeed;
class PlanStartLine;
class PlanTime;
class PlanUnits;
class Session;
class StatusLine;

class PlanPage : public PageInParts {
    Q_OBJECT
public:
    explicit PlanPage(Session& session, QWidget* parent = nullptr);
    /// Something is being planned or measured, or will be at once.
    bool busy() const;
    const std::shared_ptr<const PlanAnswer>& answer() const { return answer_; }
    const std::vector<plan::MeasuredPlan>& measured() const { return measured_; }
    PlanChoice* choice() const { return choice_; }
    PlanBudget* budget() const { return budget_; }
    PlanCharts* charts() const { return charts_; }
    PlanUnits* units() const { return units_; }
    PlanChance* chance() const { return chance_; }
    PlanTime* time() const { return time_; }
    PlanSpeed* speed() const { return speed_; }

protected:
    void showEvent(QShowEvent*) override;

private:
    QWidget* sidebar();
    QWidget* results();
    QLayout* buttons();
    void connectSession();
    void modelChanged();
    void recipeChanged();
    void budgetChanged(); ///< elsewhere: undo, a session file
    void startChanged();
    void ask();    ///< makes the ground if it is out of date, then the plan
    void ground(); ///< measures bytes and losses
    void solve();
    void take(std::shared_ptr<const PlanAnswer> answer);
    void use();     ///< makes the plan the recipe of the session
    void measure(); ///< beside chance; or more draws of what was measured
    void drawMore(MeasureRequest request);
    bool canGoOn(const plan::MeasuredPlan& measured) const; ///< more draws can join those that it has
    void publish();                                         ///< gives the session the record of the plan
    void keep();
    bool takeRestored();
    void draw();
    bool isGroundFresh() const;
    bool isInUse() const;                          ///< the recipe of the session is this plan
    const plan::MeasuredPlan* measuredNow() const; ///< of this very plan; null: it was not measured
    RuleLines plannedLines() const;

    Session& session_;
    Task grounding_, solving_, banding_, measuring_, restoring_;
    QTimer settle_;
    std::shared_ptr<const PlanGround> ground_;
    std::shared_ptr<const SensitivityRows> groundOf_; ///< the sensitivities that the ground was made of
    std::shared_ptr<const PlanAnswer> answer_;
    std::vector<plan::MeasuredPlan> measured_;
    std::optional<double> bpw_; ///< the budget; while the slider is dragged ahead of the session's
    std::size_t drawn_ = 0;     ///< draws that are kept if the measurement that runs is cancelled
    bool fresh_ = true;         ///< the user has not seen this model here yet
    bool again_ = false;        ///< the question has changed while it was answered
    QStackedLayout *stack_, *views_ = nullptr;
    EmptyState* empty_;
    QLabel *facts_, *verdict_ = nullptr;
    PlanChoice* choice_ = nullptr;
    PlanStartLine* startLine_ = nullptr;
    StatusLine* status_ = nullptr;
    PlanBudget* budget_ = nullptr;
    PlanCharts* charts_ = nullptr;
    PlanUnits* units_ = nullptr;
    PlanChance* chance_ = nullptr;
    PlanTime* time_ = nullptr;
    PlanSpeed* speed_ = nullptr;
    QComboBox* draws_ = nullptr;
    QPushButton *start_ = nullptr, *measure_ = nullptr, *stop_ = nullptr, *use_ = nullptr, *export_ = nullptr;
};

} // namespace qs::gui
