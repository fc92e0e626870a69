// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tensor_menu.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/unit_rules.h"
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/plan/report.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

namespace qs::gui {
namespace {

QString ruleSpecText(const std::optional<QuantSpec>& spec) {
    return spec ? QString::fromStdString(specText(*spec)) : QObject::tr("keep");
}

/// Opens a page with the tensor, if the model is still the same.
auto opener(Session& session, const TensorInfo& tensor, const PageTraits& page) {
    return [&session, model = session.model(), at = &tensor, &page] {
        if (session.model() != model) return;
        session.selectTensor(at);
        session.showPage(page);
    };
}

} // namespace

void addUnitActions(QMenu& menu, Session& session, const UnitActions& unit) {
    const TensorInfo& tensor = *unit.tensors.front();
    const UnitRules rules(session, unit.tensors);
    menu.addSection(QString::fromStdString(nameWithin(escapeForPeople(unit.title, 500), 48)));
    const auto add = [&](QMenu& to, const char* id, const QString& text, bool on, auto act) {
        auto* action = to.addAction(text, &session, std::move(act));
        action->setObjectName(QLatin1String(id));
        action->setEnabled(on);
    };
    const auto give = [&](std::optional<QuantSpec> spec) { return [rules, spec] { rules.give(spec); }; };
    const TensorRule* own = rules.own();
    const std::optional<QuantSpec> has = unit.has(session);
    const bool canChange = rules.canChange();
    add(menu, "tensorKeep", QObject::tr("Keep as it is"), canChange && has.has_value(), give(std::nullopt));
    add(menu, "tensorThisSpec", QObject::tr("Give it %1").arg(ruleSpecText(session.spec())),
        canChange && !(has && rules.isRuled() && *has == session.spec()), give(session.spec()));
    if (!unit.choices.empty()) {
        auto* choices = named(menu.addMenu(QObject::tr("Give it")), "tensorGive");
        for (const QuantSpec& spec : unit.choices)
            add(*choices, specText(spec).c_str(), ruleSpecText(spec), canChange && !(own && own->spec == spec),
                give(spec));
    }
    if (own)
        add(menu, "tensorUnlock", QObject::tr("Unlock (%1)").arg(ruleSpecText(own->spec)), canChange,
            [rules] { rules.unlock(); });
    else
        add(menu, "tensorLock", QObject::tr("Lock what it has: %1").arg(ruleSpecText(has)), canChange, give(has));
    menu.addSeparator();
    add(menu, "tensorCopyName", QObject::tr("Copy the name"), true,
        [name = QString::fromStdString(tensor.name)] { QApplication::clipboard()->setText(name); });
    if (unit.isPlanned)
        add(menu, "tensorOpen", QObject::tr("Open the tensor"), tensor.isWeight(),
            opener(session, tensor, kTensorPage));
    add(menu, "tensorCodebook", QObject::tr("Open in the codebook"), tensor.isWeight(),
        opener(session, tensor, kCodebookPage));
    menu.addSeparator();
}

std::optional<QuantSpec> UnitActions::has(const Session& session) const {
    if (isPlanned) return planned;
    const QuantSpec* spec = session.recipe()->specOf(*tensors.front());
    return spec ? std::optional(*spec) : std::nullopt;
}

void addTensorActions(QMenu& menu, Session& session, const TensorInfo& tensor) {
    UnitActions unit{tensor.name, {&tensor}};
    if (const auto& plan = session.decision().plan(); plan && tensor.isWeight())
        unit.choices = plan->options->toChooseFrom();
    addUnitActions(menu, session, unit);
}

void popUpTensorMenu(QWidget& parent, const QPoint& global, Session& session, const TensorInfo& tensor) {
    auto* menu = named(new QMenu(&parent), "tensorMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    addTensorActions(*menu, session, tensor);
    menu->popup(global);
}

} // namespace qs::gui
