// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One of several specs for every tensor under a budget, exact, with locks and groups, tested against chance, and made
// the recipe of the session.

#include "app/gui/page_in_parts.h"
#include "app/gui/pages/plan/measured_plans.h"
#include "app/gui/pages/plan/plan_results.h"
#include "app/gui/pages/plan/plan_solver.h"

#include <QTimer>

namespace qs {
struct KeptPlan;
}

namespace qs::gui {

class EmptyState;
class PlanChoice;
class PlanStartLine;
class StatusLine;

class PlanPage : public PageInParts {
    Q_OBJECT
public:
    explicit PlanPage(Session& session, QWidget* parent = nullptr);
    /// Something is being planned or measured, or will be at once.
    bool busy() const;
    const std::shared_ptr<const PlanAnswer>& answer() const { return solver_.answer(); }
    const std::vector<plan::MeasuredPlan>& measured() const { return measured_.all(); }
    PlanChoice* choice() const { return choice_; }
    PlanBudget* budget() const { return results_->budget(); }
    PlanCharts* charts() const { return results_->charts(); }
    PlanUnits* units() const { return results_->units(); }
    PlanChance* chance() const { return results_->chance(); }
    PlanTime* time() const { return results_->time(); }
    PlanSpeed* speed() const { return results_->speed(); }

protected:
    void showEvent(QShowEvent*) override;

private:
    QWidget* sidebar();
    QWidget* results();
    void connectSession();
    void connectWork();
    void modelChanged();
    void recipeChanged();
    void budgetChanged(); ///< elsewhere: undo, a session file
    void startChanged();
    void ask();    ///< makes the ground if it is out of date, then the plan
    void ground(); ///< measures bytes and losses
    void solve();
    void take(bool isLast, bool isSame); ///< the answer
    void use();                          ///< makes the plan the recipe of the session
    void measure();                      ///< beside chance; or more draws of what was measured
    void publish();                      ///< gives the session the record of the plan
    void keep();
    bool takeRestored();
    void take(KeptPlan kept);
    void draw();
    bool isInUse() const;                          ///< the recipe of the session is this plan
    const plan::MeasuredPlan* measuredNow() const; ///< of this very plan; null: it was not measured

    Session& session_;
    PlanSolver solver_;
    MeasuredPlans measured_;
    Task restoring_;
    QTimer settle_;
    std::optional<double> bpw_; ///< the budget; while the slider is dragged ahead of the session's
    bool fresh_ = true;         ///< the user has not seen this model here yet
    QStackedLayout* stack_;
    EmptyState* empty_;
    QLabel* facts_;
    PlanChoice* choice_ = nullptr;
    PlanStartLine* startLine_ = nullptr;
    StatusLine* status_ = nullptr;
    PlanResults* results_ = nullptr;
    QPushButton* start_ = nullptr;
};

} // namespace qs::gui
