// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The recipe of a session as all pages use it: which spec every weight gets. Built once when the rules, spec A or the
// model change, then shared and never changed.

#include "app/gui/model_layout.h"
#include "core/export/recipe_sizes.h"
#include "core/export/rule_book.h"

namespace qs::gui {

struct SessionRecipe {
    RuleLines lines;               ///< the rules; none if their text is wrong
    RuleBook book;                 ///< of all rules
    std::optional<QuantSpec> rest; ///< of tensors that no rule matches: spec A; none: they stay as they are
    std::vector<QuantSpec> specs;  ///< that some weight gets, the most frequent first
    std::vector<int> of;           ///< per weight: index into `specs`, -1: it stays as it is. Empty: all get `rest`
    int kept = 0;                  ///< weights that stay as they are
    std::string key;               ///< equal for equal `of` and `specs`; empty if `of` is
    RecipeSizes sizes;             ///< of a recipe that is mixed, in the layout that the session counts; else empty

    /// Weights get different specs, or some are kept: the figures of spec A alone are not those of the recipe.
    bool isMixed() const { return !of.empty(); }
    /// Null: it stays as it is.
    const QuantSpec* specOf(const TensorInfo& tensor) const;
    Recipe asRecipe() const;
    /// "nf4:block=64", or "recipe: 3 specs, 2 tensors kept".
    QString title(const QuantSpec& specA) const;
};

/// Without sizes.
std::shared_ptr<SessionRecipe> sessionRecipe(const Weights& weights, const QString& rules, bool keepsRest,
                                             const QuantSpec& specA);
/// Counts what a mixed recipe takes. `layout`: the one that was chosen; null: countedLayout().
void setSizes(SessionRecipe& recipe, const Model& model, const Weights& weights, const Layout* layout, const Job& job);

/// A recipe that the page Plan starts from. It locks nothing: its specs are to choose from, and it stands beside the plan.
struct PlanStart {
    QString name;  ///< of its file; "": there is none
    QString rules; ///< a rule a line; tensors that match none stay as they are
    std::shared_ptr<const SessionRecipe> recipe;
};

} // namespace qs::gui
