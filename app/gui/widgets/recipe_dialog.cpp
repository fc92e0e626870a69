// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/recipe_dialog.h"
#include "app/gui/widgets/data_table.h"

#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/status_line.h"
#include "core/model/output/atomic_file.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

QString recipeText(const std::string& text) { return QString::fromStdString(text); }

} // namespace

RecipeDialog::RecipeDialog(Session& session, QWidget* parent)
    : FindingDialog("recipe", tr("Recipes of other programs"), parent), session_(session),
      rows_(
          new RowModel<ResolvedTensor>(resolvedColumns().pick({"tensor", "spec", "matched_by", "also", "note"}), this)),
      remarks_(named(new QLabel, "recipeRemarks", "muted")), format_(named(new QComboBox, "recipeFormat")),
      use_(button(tr("Use for this model"), "useRecipe")), start_(button(tr("Start the plan from it"), "startPlan")),
      save_(button(tr("Save as…"), "saveForeignRecipe")) {
    resize(960, 560);
    chooseOpen_ = [this](const QString& suggested) {
        return QFileDialog::getOpenFileName(this, tr("Open a recipe"), suggested, tr("All files (*)"));
    };
    chooseSave_ = [this](const QString& suggested) {
        return QFileDialog::getSaveFileName(this, tr("Save the recipe"), suggested);
    };
    remarks_->setWordWrap(true);
    remarks_->setTextFormat(Qt::PlainText);
    auto* view =
        sortableTable(rows_, "recipeRows", tr("Matrices of the model with their specs and the rules that decide"));
    for (int column = 1; column < 4; ++column) view->setColumnWidth(column, column == 3 ? 96 : 220);
    view->horizontalHeader()->setStretchLastSection(true);
    format_->setAccessibleName(tr("The program to write the recipe for"));
    for (const RecipeFormat* row : recipeFormats()) {
        format_->addItem(QString::fromUtf8(row->title), QString::fromLatin1(row->id));
        format_->setItemData(format_->count() - 1, QString::fromUtf8(row->summary), Qt::ToolTipRole);
    }
    use_->setToolTip(
        tr("Its rules become those of the session, which every page shows; a plan leaves them as they are"));
    start_->setToolTip(
        tr("The page Plan chooses from its specs and shows it beside the plan; nothing of it is locked"));
    auto* open = button(tr("Open…"), "openForeignRecipe");
    lay({view, remarks_}, {open, use_, start_}, {format_, save_});
    connect(open, &QPushButton::clicked, this, [this] {
        if (const QString path = chooseOpen_({}); !path.isEmpty()) openFile(path);
    });
    connect(save_, &QPushButton::clicked, this, [this] {
        const RecipeFormat* to = findRecipeFormat(format_->currentData().toString().toStdString());
        const QString name = QStringLiteral("recipe") + QLatin1String(to->ending);
        if (const QString path = chooseSave_(name); !path.isEmpty()) saveFile(path);
    });
    connect(use_, &QPushButton::clicked, this, &RecipeDialog::use);
    connect(start_, &QPushButton::clicked, this, &RecipeDialog::startPlan);
    status_->listenTo(task_);
    connect(&task_, &Task::failed, this, &RecipeDialog::settled);
    for (auto* one : {use_, start_, save_}) one->setEnabled(false);
}

void RecipeDialog::showSession() {
    Recipe recipe;
    const auto rules = parseRules(session_.rules().toStdString());
    if (!rules) return status_->say(recipeText(rules.error().sentence()), true);
    recipe.rules = *rules;
    if (!session_.keepsRest()) recipe.rest = session_.spec();
    resolve([text = qs::recipeText(recipe)] { return parseForeignRecipe(text, "the session"); },
            tr("The recipe of this session"));
}

void RecipeDialog::openFile(const QString& path) {
    resolve([file = path.toStdString()] { return readForeignRecipe(file); }, QFileInfo(path).fileName());
}

void RecipeDialog::resolve(std::function<Result<ForeignRecipe>()> read, const QString& name) {
    const auto model = session_.model();
    if (!model) return status_->say(tr("Open a model first: a recipe says which of its tensors get which spec."), true);
    task_.run(
        {},
        [read = std::move(read), model, name](const Job&) -> Result<Shown> {
            auto recipe = read();
            if (!recipe) return tl::unexpected(recipe.error());
            auto resolved = resolveRecipe(*recipe, *model);
            if (!resolved) return failAt(name.toStdString(), resolved.error());
            return Shown{model, std::move(*recipe), std::move(*resolved), name};
        },
        [this](Shown shown) { present(std::move(shown)); });
}

void RecipeDialog::present(Shown shown) {
    const RecipeFormat& format = *shown.recipe.format;
    headline_->setText(
        tr("%1 (%2): %3.").arg(shown.name, QString::fromUtf8(format.title), QString::fromUtf8(format.matching)));
    QString remarks =
        tr("What no rule matches: %1.").arg(recipeText(askedText(shown.recipe.rest, shown.recipe.restProblem)));
    for (const std::string& remark : shown.resolved.remarks) remarks += u'\n' + recipeText(remark);
    remarks_->setText(remarks);
    rows_->setRows(shown.resolved.tensors);
    for (auto* one : {use_, start_, save_}) one->setEnabled(shown.resolved.problems == 0);
    shown_ = std::move(shown);
    if (shown_->resolved.problems > 0)
        status_->say(tr("For %1 of %2 tensors it asks for what no spec says.")
                         .arg(shown_->resolved.problems)
                         .arg(shown_->resolved.tensors.size()),
                     true);
    else
        status_->say({});
    Q_EMIT settled();
}

/// As few rules as say the same: the file of our own format is written for that.
void RecipeDialog::asRules(std::function<void(const QString& rules)> take) {
    if (!shown_ || shown_->model != session_.model()) return;
    task_.run(
        {},
        [shown = *shown_](const Job&) -> Result<std::string> {
            auto written = convertRecipe(shown.recipe, kOwnRecipes, shown.model.get());
            if (!written) return tl::unexpected(written.error());
            auto recipe = parseRecipe(written->text, "recipe");
            return recipe ? rulesText(recipe->rules) : tl::unexpected(recipe.error());
        },
        [this, take = std::move(take)](const std::string& lines) {
            take(recipeText(lines));
            Q_EMIT settled();
        });
}

void RecipeDialog::use() {
    asRules([this](const QString& rules) {
        session_.setRules(rules, true);
        status_->say(tr("It is the recipe of this session now."));
    });
}

void RecipeDialog::startPlan() {
    asRules([this, name = shown_ ? shown_->name : QString()](const QString& rules) {
        session_.startPlanFrom(name, rules);
        session_.showPage(kPlanPage);
        status_->say(tr("The page Plan chooses from its specs now, and shows it beside the plan."));
    });
}

void RecipeDialog::choose(const QString& format) { format_->setCurrentIndex(format_->findData(format)); }

void RecipeDialog::saveFile(const QString& path) {
    const RecipeFormat* to = findRecipeFormat(format_->currentData().toString().toStdString());
    if (!shown_ || !to) return;
    task_.run(
        {},
        [shown = *shown_, to, path = path.toStdString(),
         check = outputCheck(session_)](const Job&) -> Result<std::vector<std::string>> {
            auto written = convertRecipe(shown.recipe, *to, shown.model.get());
            if (!written) return tl::unexpected(written.error());
            if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
            if (auto done = writeWholeFile(path, written->text); !done) return tl::unexpected(done.error());
            return written->remarks;
        },
        [this, path](const std::vector<std::string>& remarks) {
            QString text = tr("Saved %1. Read back, it says the same.").arg(QFileInfo(path).fileName());
            for (const std::string& remark : remarks) text += u'\n' + recipeText(remark);
            status_->say(text);
            Q_EMIT settled();
        });
}

void showRecipes(Session& session, QWidget* window, const QString& path) {
    auto* dialog = new RecipeDialog(session, window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (path.isEmpty())
        dialog->showSession();
    else
        dialog->openFile(path);
    dialog->show();
}

} // namespace qs::gui
