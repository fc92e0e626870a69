// SPDX-License-Identifier: GPL-3.0-or-later
// What pages give each other through the session: the recipe, the text and the evidence, the plan, results to keep.
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
void Session::setPlan(std::shared_ptr<const plan::PlanRecord> plan) {
    if (plan_ == plan) return;
    plan_ = std::move(plan);
    Q_EMIT planChanged();
}
void Session::setPlanBudget(std::optional<double> bpw) {
    if (planBudget_ == bpw) return;
    planBudget_ = bpw;
    Q_EMIT planBudgetChanged();
}
void Session::setPlanStart(const QString& name, const QString& rules) {
    if (planStart_.name == name && planStart_.rules == rules) return;
    planStart_ = {name, rules, name.isEmpty() ? nullptr : sessionRecipe(weights(), rules, true, specA_)};
    Q_EMIT planStartChanged();
}
void Session::setExportLayout(const QString& id) {
    if (exportLayout_ == id) return;
    exportLayout_ = id;
    Q_EMIT exportLayoutChanged();
}
void Session::setBenchRows(BenchRows rows) {
    if (benchRows_ == rows) return;
    benchRows_ = std::move(rows);
    Q_EMIT benchRowsChanged();
}
void Session::askBench(std::vector<QuantSpec> specs) {
    benchWish_ = std::move(specs);
    Q_EMIT benchAsked();
}
QString Session::sampleText() const {
    const QString sample = samplePath();
    if (!model_ || sample.isEmpty() || QFileInfo(QString::fromStdString(model_->path)) != QFileInfo(sample)) return {};
    const QString path = sample + QStringLiteral("/heldout.txt");
    return QFileInfo::exists(path) ? path : QString();
}
std::shared_ptr<const std::string> Session::restored(const QString& name) const { return d->kept.restored(name); }

} // namespace qs::gui
