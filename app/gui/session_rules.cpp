// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_rules.h"

namespace qs::gui {

bool SessionRules::set(const QString& text, bool keepsRest) {
    if (text == text_ && keepsRest == keepsRest_) return false;
    text_ = text, keepsRest_ = keepsRest;
    return true;
}

/// Without rules it is made at once: most sessions have none.
void SessionRules::judge(const std::shared_ptr<const Model>& model, const std::shared_ptr<const ModelLayout>& layout,
                         const QuantSpec& specA, const Layout* files) {
    constexpr std::size_t kLittle = 1000; // weights whose recipe takes less than a few ms
    const bool isPlain = text_.isEmpty() && !keepsRest_;
    using Made = std::shared_ptr<const SessionRecipe>;
    const auto work = [model, layout, rules = text_, keeps = keepsRest_, a = specA,
                       files](const Job& job) -> Result<Made> {
        auto made = sessionRecipe(layout->weights, rules, keeps, a);
        if (model) setSizes(*made, *model, layout->weights, files, job);
        return Made(std::move(made));
    };
    judging_.runOrNow(isPlain || layout->weights.size() <= kLittle, work, [this](const Result<Made>& made) {
        if (made) {
            const auto before = std::exchange(recipe_, *made);
            const bool hadRules = !before->lines.own.empty() || !before->lines.planned.empty();
            if (before->isMixed() || recipe_->isMixed() || hadRules || !recipe_->book.rules().empty())
                Q_EMIT recipeChanged();
        }
        Q_EMIT judged();
    });
}

void SessionRules::forgetModel() {
    recipe_ = std::make_shared<SessionRecipe>(); // weights of another model are not its own
    judging_.drop();
}

} // namespace qs::gui
