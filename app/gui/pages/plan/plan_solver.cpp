// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_solver.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/session.h"

#include <algorithm>

namespace qs::gui {
namespace {

/// The specs of locks and limits.
std::vector<QuantSpec> specsOfRules(const SessionRecipe& recipe, const PlanSettings& settings) {
    DistinctSpecs out;
    for (const TensorRule& rule : recipe.lines.own)
        if (rule.spec) out.add(*rule.spec);
    for (const plan::SizeLimit& limit : settings.limits) out.add(limit.spec);
    return out.inOrder();
}

} // namespace

PlanSolver::PlanSolver(Session& session) : session_(session), grounding_(&session.tasks()) {
    connect(&solving_, &Task::over, this, [this] {
        if (std::exchange(again_, false)) Q_EMIT askedAgain();
    });
}

bool PlanSolver::isFresh(const PlanSettings& settings) const {
    if (!ground_ || ground_->model != session_.model() || !(ground_->settings == settings)) return false;
    if (ground_->objective->how && groundOf_ != session_.output().text().sensitivities) return false;
    auto needed = specsOfRules(*session_.recipe(), settings);
    if (const auto& start = session_.decision().start().recipe)
        needed.insert(needed.end(), start->specs.begin(), start->specs.end());
    return std::ranges::all_of(needed, [&](const QuantSpec& spec) { return ground_->sizes->find(spec).has_value(); });
}

void PlanSolver::makeGround(const PlanSettings& settings, std::vector<BackendSource> backends) {
    GroundRequest request;
    request.model = session_.model(), request.layout = session_.layout(), request.settings = settings;
    request.locked = specsOfRules(*session_.recipe(), settings), request.shown = session_.recipe()->specs;
    if (const auto& start = session_.decision().start().recipe)
        request.shown.insert(request.shown.end(), start->specs.begin(), start->specs.end());
    for (const QuantSpec& spec : session_.analysedSpecs()) request.rows.emplace_back(spec, session_.modelRows(spec));
    request.text = session_.output().text(), request.before = ground_, request.backends = std::move(backends);
    groundOf_ = request.text.sensitivities;
    solving_.drop();
    again_ = false;
    using Made = std::shared_ptr<const PlanGround>;
    grounding_.run(
        "Measuring what each spec loses",
        [request = std::move(request)](const Job& job) { return planGround(request, job); },
        [this](Made made) {
            ground_ = std::move(made);
            Q_EMIT grounded();
        });
}

void PlanSolver::solve(const std::function<PlanQuestion()>& asked) {
    if (!ground_ || !ground_->sizes || grounding_.running()) return; // without sizes it is of a session file
    again_ = solving_.running();
    if (again_) return;
    PlanQuestion question = asked();
    question.ground = ground_;
    const bool isSameTime = answer_ && answer_->options->latencies == question.latencies &&
                            answer_->ns.has_value() == (question.latencies && question.ns);
    if (isSameTime && answer_->ground == ground_ && areSame(answer_->recipe->lines.own, question.recipe->lines.own))
        question.options = answer_->options;
    using Answer = std::shared_ptr<const PlanAnswer>;
    solving_.run(
        {}, [question = std::move(question)](const Job& job) { return answerPlan(question, job); },
        [this](Answer answer) { take(std::move(answer)); });
}

void PlanSolver::take(std::shared_ptr<const PlanAnswer> answer) {
    const bool isSame = answer_ && answer_->options == answer->options;
    answer_ = std::move(answer);
    Q_EMIT answered(!again_, isSame);
    if (!again_ && !isSame)
        banding_.run(
            {}, [answer = answer_](const Job& job) { return randomBand(answer, job); },
            [this](const PlanBand& band) { Q_EMIT banded(band); });
}

void PlanSolver::drop() {
    for (Task* task : {&grounding_, &solving_, &banding_}) task->drop();
    ground_.reset(), groundOf_.reset(), answer_.reset();
    again_ = false;
}

} // namespace qs::gui
