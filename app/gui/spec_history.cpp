// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/spec_history.h"

#include "app/gui/session.h"

#include <algorithm>

namespace qs::gui {
namespace {
constexpr int kOneGestureMs = 400, kOneThoughtMs = 3000;
constexpr std::size_t kSteps = 500;
} // namespace

SpecHistory::SpecHistory(Session& session, QObject* parent) : QObject(parent), session_(session), steps_{now()} {
    connect(&session, &Session::specChanged, this, &SpecHistory::note);
    connect(&session, &Session::rulesChanged, this, &SpecHistory::note);
}

SpecHistory::Step SpecHistory::now() const {
    return {session_.spec(), session_.specB(), session_.comparing(), session_.rules(), session_.keepsRest()};
}

void SpecHistory::note() {
    if (travelling_ || now() == steps_[at_]) return;
    // Same format and comparing, and soon after the last: the same drag. Lines that are typed are slower.
    const auto step = now();
    const auto& last = steps_[at_];
    const bool typed = step.rules != last.rules;
    const bool sameGesture = at_ > 0 && at_ + 1 == steps_.size() && sinceLast_.isValid() && typed == typed_ &&
                             sinceLast_.elapsed() < (typed ? kOneThoughtMs : kOneGestureMs) &&
                             step.comparing == last.comparing && step.keepsRest == last.keepsRest &&
                             step.a.format == last.a.format && step.b.format == last.b.format;
    typed_ = typed;
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

void SpecHistory::go(std::size_t to) {
    at_ = to;
    sinceLast_.invalidate();
    const auto step = steps_[at_];
    travelling_ = true;
    session_.setSpec(step.a);
    session_.setSpecB(step.b);
    session_.setComparing(step.comparing);
    session_.setRules(step.rules, step.keepsRest);
    travelling_ = false;
    Q_EMIT changed();
}

std::vector<SessionStep> SpecHistory::steps() const {
    std::vector<SessionStep> steps;
    for (const auto& step : steps_)
        steps.push_back(
            {canonicalText(step.a), canonicalText(step.b), step.comparing, step.rules.toStdString(), step.keepsRest});
    return steps;
}

void SpecHistory::restore(const std::vector<SessionStep>& steps, std::size_t at) {
    std::vector<Step> kept;
    std::size_t to = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto a = parseSpec(steps[i].specA), b = parseSpec(steps[i].specB);
        if (i == at) to = kept.size();
        if (a && b)
            kept.push_back({*a, *b, steps[i].comparing, QString::fromStdString(steps[i].rules), steps[i].keepsRest});
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

void SpecHistory::undo() {
    if (canUndo()) go(at_ - 1);
}
void SpecHistory::redo() {
    if (canRedo()) go(at_ + 1);
}

} // namespace qs::gui
