// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tensor_menu.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/export/recipe.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

namespace qs::gui {
namespace {

QString ruleSpecText(const std::optional<QuantSpec>& spec) {
    return spec ? QString::fromStdString(specText(*spec)) : QObject::tr("keep");
}

/// Rules that cannot be written as lines are left unchanged.
void putRules(Session& session, const std::vector<TensorRule>& rules) {
    if (const auto lines = rulesText(rules)) session.setRules(QString::fromStdString(*lines), session.keepsRest());
}

} // namespace

void addTensorActions(QMenu& menu, Session& session, const TensorInfo& tensor) {
    const auto rules = parseRules(session.rules().toStdString());
    const std::vector<TensorRule> known = rules ? *rules : std::vector<TensorRule>();
    menu.addSection(QString::fromStdString(nameWithin(escapeForPeople(tensor.name, 500), 48)));
    const auto add = [&](const char* id, const QString& text, bool on, auto act) {
        auto* action = menu.addAction(text, &session, std::move(act));
        action->setObjectName(QLatin1String(id));
        action->setEnabled(on);
    };
    const auto rule = [&session, known, name = tensor.name](std::optional<QuantSpec> spec) {
        return [&session, known, name, spec] { putRules(session, withRuleFor(known, name, spec)); };
    };
    const auto* own = ruleFor(known, tensor.name);
    const auto* first = firstRule(known, tensor.name);
    std::optional<QuantSpec> has;
    if (first)
        has = first->spec;
    else if (!session.keepsRest())
        has = session.spec();
    const bool canChange = rules.has_value() && tensor.isWeight();
    add("tensorKeep", QObject::tr("Keep as it is"), canChange && has.has_value(), rule(std::nullopt));
    add("tensorThisSpec", QObject::tr("Give it %1").arg(ruleSpecText(session.spec())),
        canChange && !(has && first && *has == session.spec()), rule(session.spec()));
    if (own)
        add("tensorUnlock", QObject::tr("Unlock (%1)").arg(ruleSpecText(own->spec)), canChange,
            [&session, known, name = tensor.name] { putRules(session, withoutRuleFor(known, name)); });
    else
        add("tensorLock", QObject::tr("Lock what it has: %1").arg(ruleSpecText(has)), canChange, rule(has));
    menu.addSeparator();
    add("tensorCopyName", QObject::tr("Copy the name"), true,
        [name = QString::fromStdString(tensor.name)] { QApplication::clipboard()->setText(name); });
    add("tensorCodebook", QObject::tr("Open in the codebook"), tensor.isWeight(),
        [&session, model = session.model(), at = &tensor] {
            if (session.model() != model) return;
            session.selectTensor(at);
            session.showPage(kCodebookPage);
        });
    menu.addSeparator();
}

void popUpTensorMenu(QWidget& parent, const QPoint& global, Session& session, const TensorInfo& tensor) {
    auto* menu = named(new QMenu(&parent), "tensorMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    addTensorActions(*menu, session, tensor);
    menu->popup(global);
}

} // namespace qs::gui
