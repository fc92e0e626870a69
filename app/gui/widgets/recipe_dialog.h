// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Recipes of other programs: opens one, shows what it says for every matrix of the model and which rule says it, makes it
// the recipe of the session, and writes what is shown as another program reads it.

#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "app/gui/widgets/finding_dialog.h"
#include "core/recipes/convert.h"

#include <functional>
#include <memory>

class QComboBox;
class QLabel;
class QPushButton;

namespace qs::gui {

class Session;

class RecipeDialog : public FindingDialog {
    Q_OBJECT
public:
    explicit RecipeDialog(Session& session, QWidget* parent = nullptr);
    void showSession(); ///< the recipe of the session
    void openFile(const QString& path);
    void saveFile(const QString& path); ///< in the chosen format
    void use();                         ///< makes what is shown the recipe of the session
    void startPlan();                   ///< begins a plan from what is shown, and shows its page
    void choose(const QString& format); ///< the id of a format to save in
    using PathChooser = std::function<QString(const QString& suggested)>;
    void setOpenChooser(PathChooser chooser) { chooseOpen_ = std::move(chooser); }
    void setSaveChooser(PathChooser chooser) { chooseSave_ = std::move(chooser); }
    const ResolvedRecipe* shown() const { return shown_ ? &shown_->resolved : nullptr; }

private:
    /// A recipe and what it says for the model.
    struct Shown {
        std::shared_ptr<const Model> model;
        ForeignRecipe recipe;
        ResolvedRecipe resolved;
        QString name;
    };
    void resolve(std::function<Result<ForeignRecipe>()> read, const QString& name);
    void present(Shown shown);
    void asRules(std::function<void(const QString& rules)> take);

    Session& session_;
    PathChooser chooseOpen_, chooseSave_;
    std::optional<Shown> shown_;
    RowModel<ResolvedTensor>* rows_;
    QLabel* remarks_;
    QComboBox* format_;
    QPushButton *use_, *start_, *save_;
    Task task_;
};

/// Opens the dialog on the session's recipe, or on a file.
void showRecipes(Session& session, QWidget* window, const QString& path = {});

} // namespace qs::gui
