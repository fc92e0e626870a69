// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_start.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/recipe_dialog.h"
#include "core/base/text.h"
#include "core/export/rule_book.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QToolButton>
#include <QVBoxLayout>

namespace qs::gui {

PlanStartLine::PlanStartLine(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), name_(named(new ElidedLabel(Qt::ElideMiddle), "planStartName")),
      figures_(named(new ElidedLabel(Qt::ElideRight), "planStartFigures", "muted")) {
    figures_->setFont(Theme::numbers(11));
    const auto button = [](const char* name, const QString& text, const QString& tip) {
        auto* made = named(new QToolButton, name, "quiet");
        made->setText(text);
        made->setToolTip(tip);
        made->setAccessibleName(tip);
        return made;
    };
    open_ = button("planStartOpen", tr("Start from a recipe…"),
                   tr("Choose from the specs of a recipe of any program, and show it beside the plan"));
    size_ = button("planStartSize", tr("Its size"), tr("Give the plan the size of this recipe"));
    lock_ = button("planStartLock", tr("Lock"),
                   tr("Make this recipe that of the session: its rules are locks of the plan"));
    skips_ = button("planStartSkips", tr("Skip list"),
                    tr("Lock what this recipe keeps as it is, such as llm_int8_skip_modules of a config.json"));
    forget_ = button("planStartForget", tr("Forget"), tr("Take this recipe away from the plan; ticked specs stay"));
    auto* row = spaced(new QHBoxLayout, 4);
    for (auto* one : {open_, size_, lock_, skips_, forget_}) row->addWidget(one);
    row->addStretch(1);
    auto* column = spaced(new QVBoxLayout(this), 0);
    addWidgets(*column, {name_, figures_});
    column->addLayout(row);
    connect(open_, &QToolButton::clicked, this, &PlanStartLine::choose);
    connect(size_, &QToolButton::clicked, this, [this] { session_.decision().setBudget(bpw_); });
    connect(lock_, &QToolButton::clicked, this, [this] { session_.setRules(session_.decision().start().rules, true); });
    connect(skips_, &QToolButton::clicked, this, &PlanStartLine::keepItsSkips);
    connect(forget_, &QToolButton::clicked, this, [this] { session_.startPlanFrom({}, {}); });
    setAnswer(nullptr);
}

void PlanStartLine::keepItsSkips() {
    const auto& start = session_.decision().start().recipe;
    RuleLines lines = session_.recipe()->lines;
    std::vector<TensorRule> kept;
    for (const TensorInfo* tensor : session_.weights())
        if (!start->specOf(*tensor) && !firstRule(lines.own, tensor->name))
            kept.push_back({regexOfName(tensor->name), std::nullopt});
    lines.own.insert(lines.own.end(), kept.begin(), kept.end());
    session_.setRules(lines, session_.keepsRest());
}

void PlanStartLine::choose() {
    auto* dialog = named(new QFileDialog(this, tr("Start from a recipe")), "planRecipeDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this,
            [this](const QString& path) { showRecipes(session_, window(), path); });
    dialog->open();
}

void PlanStartLine::setAnswer(const PlanAnswer* answer) {
    const PlanStart& start = session_.decision().start();
    const bool has = start.recipe != nullptr;
    open_->setHidden(has);
    for (QWidget* one : std::initializer_list<QWidget*>{name_, figures_, size_, lock_, skips_, forget_})
        one->setHidden(!has);
    if (!has) return;
    name_->setText(tr("from %1").arg(start.name));
    name_->setToolTip(tr("The plan began from %1; it locks nothing").arg(start.name));
    QString text;
    bpw_ = 0;
    if (answer && !answer->startProblem.empty()) {
        text = QString::fromStdString(oneSentence(answer->startProblem));
    } else if (answer && !answer->start.empty()) {
        const plan::Mixture& mixture = answer->start.front().mixture;
        bpw_ = mixture.bpw(*answer->options);
        text = tr("%1 bpw, loss %2")
                   .arg(QString::fromStdString(fixedText(bpw_, 4)),
                        mixture.unmeasured ? tr("not known of %1 tensors").arg(mixture.unmeasured)
                                           : QString::fromStdString(significantText(mixture.loss, 4)));
    }
    size_->setEnabled(bpw_ > 0);
    figures_->setText(text);
    figures_->setToolTip(text);
}

} // namespace qs::gui
