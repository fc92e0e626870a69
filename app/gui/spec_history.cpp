// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/spec_history.h"

#include "app/gui/session.h"
#include "app/gui/spec_edit.h"

#include <QCoreApplication>
#include <QEvent>
#include <algorithm>

namespace qs::gui {
namespace {
constexpr int kOneGestureMs = 400, kOneThoughtMs = 3000;
constexpr std::size_t kSteps = 500;
} // namespace

SpecHistory::SpecHistory(Session& session, QObject* parent) : QObject(parent), session_(session), steps_{now()} {
    for (auto signal : {&Session::specChanged, &Session::rulesChanged, &Session::movedLevelsChanged})
        connect(&session, signal, this, &SpecHistory::note);
    connect(&session.decision(), &Decision::budgetChanged, this, &SpecHistory::note);
    connect(&session, &Session::modelLeft, this, &SpecHistory::forget);
    QCoreApplication::instance()->installEventFilter(this);
}

bool SpecHistory::eventFilter(QObject*, QEvent* event) {
    const bool presses = event->type() == QEvent::MouseButtonPress;
    if (presses || event->type() == QEvent::MouseButtonRelease) isPressed_ = presses, notedPressed_ = false;
    return false;
}

SpecHistory::Step SpecHistory::now() const {
    return {session_.spec(),      session_.specB(),       session_.rules(),
            session_.keepsRest(), session_.movedLevels(), session_.decision().budget()};
}

SpecHistory::Of SpecHistory::changeOf(const Step& before, const Step& after) {
    if (after.rules != before.rules || after.keepsRest != before.keepsRest) return Of::Rules;
    if (after.budget != before.budget) return Of::Budget;
    return after.levels != before.levels ? Of::Levels : Of::Spec;
}

/// Same format, and one drag, or little time between. Typing rules is slower and gets more time.
bool SpecHistory::continues(const Step& step, Of change) const {
    const auto& last = steps_[at_];
    return at_ > 0 && at_ + 1 == steps_.size() && sinceLast_.isValid() && change == last_ &&
           (notedPressed_ || sinceLast_.elapsed() < (change == Of::Rules ? kOneThoughtMs : kOneGestureMs)) &&
           step.keepsRest == last.keepsRest && step.a.format == last.a.format && step.b.format == last.b.format &&
           step.levels.how == last.levels.how && step.levels.levels.empty() == last.levels.levels.empty();
}

void SpecHistory::note() {
    if (travelling_ || now() == steps_[at_]) return;
    const auto step = now();
    const Of change = changeOf(steps_[at_], step);
    const bool sameGesture = continues(step, change);
    last_ = change;
    notedPressed_ = isPressed_;
    sinceLast_.start();
    if (sameGesture) {
        steps_[at_] = step;
    } else {
        steps_.resize(at_ + 1);
        steps_.push_back(step);
        if (steps_.size() > kSteps) steps_.erase(steps_.begin());
        at_ = steps_.size() - 1;
    }
    Q_EMIT changed();
}

void SpecHistory::forget() {
    steps_ = {now()};
    at_ = 0;
    sinceLast_.invalidate();
    Q_EMIT changed();
}

void SpecHistory::go(std::size_t to) {
    at_ = to;
    sinceLast_.invalidate();
    const auto step = steps_[at_];
    travelling_ = true;
    session_.setSpec(step.a);
    if (step.b != session_.specB()) session_.setComparing(true); // a change of B is seen
    session_.setSpecB(step.b);
    session_.setRules(step.rules, step.keepsRest);
    session_.setMovedLevels(step.levels);
    session_.decision().setBudget(step.budget);
    travelling_ = false;
    Q_EMIT changed();
}

std::vector<SessionStep> SpecHistory::steps() const {
    std::vector<SessionStep> steps;
    for (const auto& step : steps_)
        steps.push_back({specText(step.a),
                         specText(step.b),
                         session_.comparing(),
                         step.rules.toStdString(),
                         step.keepsRest,
                         {step.levels.format, step.levels.levels, step.levels.how.toStdString()},
                         step.budget});
    return steps;
}

void SpecHistory::restore(const std::vector<SessionStep>& steps, std::size_t at) {
    std::vector<Step> kept;
    std::size_t to = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto a = savedSpec(steps[i].specA), b = savedSpec(steps[i].specB);
        if (i == at) to = kept.size();
        if (a && b)
            kept.push_back(
                {*a,
                 *b,
                 QString::fromStdString(steps[i].rules),
                 steps[i].keepsRest,
                 {steps[i].levels.format, steps[i].levels.values, QString::fromStdString(steps[i].levels.how)},
                 steps[i].budget});
    }
    if (kept.empty()) return;
    if (kept.size() > kSteps) {
        const auto over = kept.size() - kSteps;
        kept.erase(kept.begin(), kept.begin() + std::ptrdiff_t(over));
        to = to > over ? to - over : 0;
    }
    steps_ = std::move(kept);
    go(std::min(to, steps_.size() - 1));
}

/// What changes between step `from` and the next one.
QString SpecHistory::changeText(std::size_t from) const {
    const Of change = from + 1 < steps_.size() ? changeOf(steps_[from], steps_[from + 1]) : Of::Spec;
    return change == Of::Rules    ? QStringLiteral("change of rules")
           : change == Of::Levels ? QStringLiteral("change of levels")
           : change == Of::Budget ? QStringLiteral("change of the budget")
                                  : QStringLiteral("spec change");
}

QString SpecHistory::undoText() const {
    return QStringLiteral("&Undo ") + changeText(canUndo() ? at_ - 1 : steps_.size());
}
QString SpecHistory::redoText() const { return QStringLiteral("&Redo ") + changeText(at_); }

void SpecHistory::undo() {
    if (canUndo()) go(at_ - 1);
}
void SpecHistory::redo() {
    if (canRedo()) go(at_ + 1);
}

} // namespace qs::gui
