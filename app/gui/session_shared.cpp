// SPDX-License-Identifier: GPL-3.0-or-later
// What pages give each other through the session: the recipe, the text and the evidence, the decision, results to keep.
#include "app/gui/session_private.h"

#include <QFileInfo>

namespace qs::gui {

void Session::setRules(const QString& rules, bool keepsRest) {
    if (rules == rules_ && keepsRest == keepsRest_) return;
    rules_ = rules, keepsRest_ = keepsRest;
    judgeRecipe();
    Q_EMIT rulesChanged();
    if (model_) d->settle.start();
}

void Session::setRules(const RuleLines& lines, bool keepsRest) {
    if (const auto text = ruleLinesText(lines)) setRules(QString::fromStdString(*text), keepsRest);
}

/// Without rules it is made at once: most sessions have none.
void Session::judgeRecipe() {
    constexpr std::size_t kLittle = 4000; // weights whose recipe takes less than a few ms
    const auto take = [this](std::shared_ptr<const SessionRecipe> recipe) {
        const auto before = std::exchange(recipe_, std::move(recipe));
        // While spec A is for all, specChanged() says it.
        const bool hadRules = !before->lines.own.empty() || !before->lines.planned.empty();
        if (before->isMixed() || recipe_->isMixed() || hadRules || !recipe_->book.rules().empty())
            Q_EMIT recipeChanged();
    };
    const bool isPlain = rules_.isEmpty() && !keepsRest_;
    using Made = std::shared_ptr<const SessionRecipe>;
    const auto work = [layout = layout_, rules = rules_, keeps = keepsRest_, a = specA_](const Job&) -> Result<Made> {
        return sessionRecipe(layout->weights, rules, keeps, a);
    };
    d->judging.runOrNow(isPlain || weights().size() <= kLittle, work, [this, take](const Result<Made>& made) {
        if (made) take(*made);
        if (model_ && recipe_->isMixed()) d->settle.start();
    });
}

void Session::analyseRecipe() {
    if (recipe_->isMixed())
        d->sweep.ask(recipe_);
    else
        d->sweep.ask(specA_);
}

const ModelRows& Session::recipeRows() const {
    return recipe_->isMixed() ? d->sweep.rows(*recipe_) : d->sweep.rows(specA_);
}

void Session::keep(const QString& name, KeptText text) { d->kept.keep(name, std::move(text)); }
const std::map<QString, Session::Kept>& Session::kept() const { return d->kept.all(); }
void Session::setEvidence(std::shared_ptr<const eval::EvaluationRecord> evidence) {
    if (evidence_ == evidence) return;
    evidence_ = std::move(evidence);
    Q_EMIT evidenceChanged();
}
void Session::setOutputText(OutputText text) {
    if (outputText_ == text) return;
    outputText_ = std::move(text);
    Q_EMIT outputTextChanged();
}
Decision& Session::decision() const { return d->decision; }
void Session::startPlanFrom(const QString& name, const QString& rules) {
    d->decision.setStart({name, rules, name.isEmpty() ? nullptr : sessionRecipe(weights(), rules, true, specA_)});
}
QString Session::sampleText() const {
    const QString sample = samplePath();
    if (!model_ || sample.isEmpty() || QFileInfo(QString::fromStdString(model_->path)) != QFileInfo(sample)) return {};
    const QString path = sample + QStringLiteral("/heldout.txt");
    return QFileInfo::exists(path) ? path : QString();
}
std::shared_ptr<const std::string> Session::restored(const QString& name) const { return d->kept.restored(name); }

} // namespace qs::gui
