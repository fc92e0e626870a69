// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The plan of the page: the ground that it is made of, and the answer to the newest question.

#include "app/gui/pages/plan/plan_work.h"
#include "app/gui/task.h"

namespace qs::gui {

class Session;

class PlanSolver : public QObject {
    Q_OBJECT
public:
    explicit PlanSolver(Session& session);

    const Task& grounding() const { return grounding_; }
    const Task& solving() const { return solving_; }
    bool busy() const { return again_ || grounding_.running() || solving_.running() || banding_.running(); }
    const std::shared_ptr<const PlanGround>& ground() const { return ground_; } ///< null: there is none
    const std::shared_ptr<const PlanAnswer>& answer() const { return answer_; } ///< null: there is none
    bool isFresh(const PlanSettings& settings) const; ///< the ground is of these, the model and the recipes

    /// Measures bytes and losses. Ends with grounded() or a signal of grounding().
    void makeGround(const PlanSettings& settings, std::vector<BackendSource> backends);
    /// One of a session file, which has no sizes: a plan needs makeGround().
    void setGround(std::shared_ptr<const PlanGround> ground) { ground_ = std::move(ground); }
    /// Ends with answered(), if there is a ground. While an answer is computed it ends with askedAgain() instead.
    /// `question` is called at once; its ground and its options are filled in.
    void solve(const std::function<PlanQuestion()>& question);
    void drop(); ///< for another model

Q_SIGNALS:
    void grounded();
    void answered(bool isLast, bool isSame); ///< no newer question waits; the choices are those of the last answer
    void askedAgain();                       ///< solve() was called while the last answer was computed
    void banded(const qs::gui::PlanBand& band);

private:
    void take(std::shared_ptr<const PlanAnswer> answer);

    Session& session_;
    Task grounding_, solving_, banding_;
    std::shared_ptr<const PlanGround> ground_;
    std::shared_ptr<const SensitivityRows> groundOf_; ///< the sensitivities that the ground was made of
    std::shared_ptr<const PlanAnswer> answer_;
    bool again_ = false; ///< the question has changed while it was answered
};

} // namespace qs::gui
