// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rules of a session, as the user edits them, and the recipe that they make of its model.

#include "app/gui/session_recipe.h"
#include "app/gui/task.h"

namespace qs::gui {

class SessionRules : public QObject {
    Q_OBJECT
public:
    const QString& text() const { return text_; } ///< a rule a line
    /// Tensors that match no rule stay unquantized instead of using spec A.
    bool keepsRest() const { return keepsRest_; }
    bool set(const QString& text, bool keepsRest); ///< false: they are the same
    /// What they say of every weight; never null.
    const std::shared_ptr<const SessionRecipe>& recipe() const { return recipe_; }
    /// Makes recipe(), with its sizes in the layout of files (null: none was chosen). Large models: on a worker.
    void judge(const std::shared_ptr<const Model>& model, const std::shared_ptr<const ModelLayout>& layout,
               const QuantSpec& specA, const Layout* files);
    void forgetModel(); ///< recipe() is of no model until judge() is called

Q_SIGNALS:
    void recipeChanged(); ///< not while spec A is for all
    void judged();        ///< after recipeChanged(), if that is emitted

private:
    QString text_;
    bool keepsRest_ = false;
    std::shared_ptr<const SessionRecipe> recipe_ = std::make_shared<SessionRecipe>();
    Task judging_;
};

} // namespace qs::gui
