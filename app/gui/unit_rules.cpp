// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/unit_rules.h"

#include "app/gui/session.h"
#include "core/export/recipe.h"

namespace qs::gui {

// The session's text may be newer than the recipe of a large model.
UnitRules::UnitRules(Session& session, std::vector<const TensorInfo*> tensors)
    : session_(&session), tensors_(std::move(tensors)), model_(session.model()) {
    if (auto lines = parseRuleLines(session.rules().toStdString())) lines_ = std::move(*lines);
}

bool UnitRules::canChange() const { return lines_ && tensors_.front()->isWeight(); }

const TensorRule* UnitRules::own() const { return lines_ ? ruleFor(lines_->own, tensors_.front()->name) : nullptr; }

bool UnitRules::isRuled() const { return own() || session_->recipe()->book.first(tensors_.front()->name); }

template<class Change> void UnitRules::apply(const Change& rulesWith) const {
    if (session_->model() != model_) return;
    RuleLines lines = lines_.value_or(RuleLines());
    for (const TensorInfo* one : tensors_) lines.own = rulesWith(std::move(lines.own), one->name);
    session_->setRules(lines, session_->keepsRest());
}

void UnitRules::give(const std::optional<QuantSpec>& spec) const {
    apply([&](std::vector<TensorRule> rules, const std::string& name) {
        return withRuleFor(std::move(rules), name, spec);
    });
}

void UnitRules::unlock() const {
    apply(
        [](std::vector<TensorRule> rules, const std::string& name) { return withoutRuleFor(std::move(rules), name); });
}

} // namespace qs::gui
