// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/rule_editor.h"

#include "app/gui/output_check.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/recipe_dialog.h"
#include "app/gui/widgets/status_line.h"
#include "core/export/recipe.h"
#include "core/model/output/atomic_file.h"

#include <QApplication>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStyle>
#include <QStyleOptionFrame>
#include <QTimer>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

constexpr int kSettleMs = 250;
constexpr int kMostCharacters = 200'000; ///< the text is parsed at each pause of typing

/// Paints several lines like a line edit.
class Field : public QWidget {
public:
    explicit Field(QPlainTextEdit* lines) : lines_(lines) {
        auto* inside = new QVBoxLayout(this);
        inside->setContentsMargins(4, 4, 4, 4);
        inside->addWidget(lines);
        connect(qApp, &QApplication::focusChanged, this, qOverload<>(&QWidget::update));
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QStyleOptionFrame box;
        box.initFrom(this);
        box.state.setFlag(QStyle::State_HasFocus, lines_->hasFocus());
        QPainter painter(this);
        style()->drawPrimitive(QStyle::PE_PanelLineEdit, &box, &painter, this);
    }

private:
    QPlainTextEdit* lines_;
};

QString kinds() { return QObject::tr("Recipes (*.json);;Recipes of other programs (*)"); }

} // namespace

RuleEditor::RuleEditor(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), lines_(named(new QPlainTextEdit, "exportRules")),
      rest_(named(new QComboBox, "exportRest")), said_(new StatusLine("exportRulesSaid")), settle_(new QTimer(this)) {
    chooseOpen_ = [this](const QString& suggested) {
        return QFileDialog::getOpenFileName(this, tr("Open a recipe"), suggested, kinds());
    };
    chooseSave_ = [this](const QString& suggested) {
        return QFileDialog::getSaveFileName(this, tr("Save the recipe"), suggested, kinds());
    };
    auto* column = spaced(new QVBoxLayout(this), Theme::kGap);
    rest_->setAccessibleName(tr("Tensors that no rule matches"));
    rest_->addItems({tr("Quantize the others by the spec above"), tr("Keep the others as they are")});
    lines_->setAccessibleName(tr("Rules of the recipe, one per line"));
    lines_->setPlaceholderText(QStringLiteral("down_proj=int8\nlayers\\.[01]\\.=keep"));
    lines_->setToolTip(tr("REGEX=SPEC or REGEX=keep; the first line that matches a name decides"));
    lines_->setFont(Theme::code());
    lines_->setLineWrapMode(QPlainTextEdit::NoWrap);
    lines_->setTabChangesFocus(true);
    lines_->setMinimumHeight(52);
    lines_->setMaximumHeight(104);
    said_->hideWhenEmpty();
    auto* files = spaced(new QHBoxLayout, Theme::kGap);
    auto* openButton = named(new QPushButton(tr("Open recipe")), "openRecipe");
    auto* saveButton = named(new QPushButton(tr("Save recipe")), "saveRecipe");
    addWidgets(*files, {openButton, saveButton});
    auto* others = named(new QPushButton(tr("Formats…")), "foreignRecipes");
    others->setToolTip(tr("Recipes as MaxText, qwix, llama.cpp, transformers and others read and write them"));
    files->addWidget(others);
    field_ = new Field(lines_);
    addWidgets(*column, {field_, said_, rest_});
    column->addLayout(files);

    settle_->setSingleShot(true);
    settle_->setInterval(kSettleMs);
    connect(settle_, &QTimer::timeout, this, &RuleEditor::take);
    connect(lines_, &QPlainTextEdit::textChanged, settle_, qOverload<>(&QTimer::start));
    connect(rest_, &QComboBox::currentIndexChanged, this, &RuleEditor::take);
    connect(openButton, &QPushButton::clicked, this, &RuleEditor::open);
    connect(saveButton, &QPushButton::clicked, this, &RuleEditor::save);
    connect(others, &QPushButton::clicked, this, [this] { showRecipes(session_, window()); });
    connect(&session, &Session::rulesChanged, this, &RuleEditor::show);
    show();
}

bool RuleEditor::wrong() const { return wrong_; }

void RuleEditor::show() {
    const QSignalBlocker quiet(lines_), too(rest_);
    rest_->setCurrentIndex(session_.keepsRest());
    if (lines_->toPlainText() == session_.rules()) return;
    settle_->stop();
    lines_->setPlainText(session_.rules());
    say({}, false);
}

void RuleEditor::take() {
    settle_->stop();
    const QString text = lines_->toPlainText();
    if (text.size() > kMostCharacters)
        return say(tr("There are too many rules for this field: quantscope-cli export takes them from a file."), true);
    if (const auto rules = parseRules(text.toStdString()); !rules) return say(errorSentence(rules.error()), true);
    say({}, false);
    session_.setRules(text, rest_->currentIndex() == 1);
}

void RuleEditor::open() {
    const QString path = chooseOpen_({});
    if (path.isEmpty()) return;
    const auto recipe = readRecipe(path.toStdString());
    if (!recipe && session_.model())
        if (const auto other = readForeignRecipe(path.toStdString()); other && other->format != &kOwnRecipes)
            return showRecipes(session_, window(), path);
    const auto lines = recipe ? rulesText(recipe->rules) : tl::unexpected(recipe.error());
    if (!lines) return say(errorSentence(lines.error()), wrong_);
    if (lines->size() > std::size_t(kMostCharacters))
        return say(
            tr("%1 has too many rules for this field: quantscope-cli export takes it.").arg(QFileInfo(path).fileName()),
            wrong_);
    if (recipe->rest) session_.setSpec(*recipe->rest);
    session_.setRules(QString::fromStdString(*lines), !recipe->rest);
    show();
    say({}, false);
    said_->say(tr("These rules are the locks of a plan. Formats… starts a plan from them instead."));
}

void RuleEditor::save() {
    take();
    if (wrong_) return;
    const QString path = chooseSave_(QStringLiteral("recipe.json"));
    if (path.isEmpty()) return;
    Recipe recipe;
    if (!session_.keepsRest()) recipe.rest = session_.spec();
    recipe.rules = *parseRules(session_.rules().toStdString());
    auto written = outputCheck(session_)(path.toStdString());
    if (written) written = writeWholeFile(path.toStdString(), recipeText(recipe));
    if (!written) return say(errorSentence(written.error()), wrong_);
    say({}, false);
    said_->say(tr("Saved %1.").arg(QFileInfo(path).fileName()));
}

void RuleEditor::say(const QString& sentence, bool isWrong) {
    wrong_ = isWrong;
    field_->setProperty("invalid", isWrong);
    field_->update();
    said_->say(sentence, true);
    Q_EMIT judged();
}

} // namespace qs::gui
