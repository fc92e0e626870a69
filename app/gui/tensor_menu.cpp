// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tensor_menu.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/export/recipe.h"
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
    const auto recipe = session.recipe();
    // The session's text may be newer than the recipe of a large model: then rules are not changed here.
    const auto lines = parseRuleLines(session.rules().toStdString());
    menu.addSection(QString::fromStdString(nameWithin(escapeForPeople(unit.title, 500), 48)));
    const auto add = [&](QMenu& to, const char* id, const QString& text, bool on, auto act) {
        auto* action = to.addAction(text, &session, std::move(act));
        action->setObjectName(QLatin1String(id));
        action->setEnabled(on);
    };
    const auto change = [&session, lines = lines.value_or(RuleLines()), tensors = unit.tensors,
                         model = session.model()](auto rulesWith) {
        return [&session, lines, tensors, model, rulesWith]() mutable {
            if (session.model() != model) return;
            for (const TensorInfo* one : tensors) lines.own = rulesWith(std::move(lines.own), one->name);
            session.setRules(lines, session.keepsRest());
        };
    };
    const auto rule = [&](std::optional<QuantSpec> spec) {
        return change([spec](std::vector<TensorRule> rules, const std::string& name) {
            return withRuleFor(std::move(rules), name, spec);
        });
    };
    const auto* own = lines ? ruleFor(lines->own, tensor.name) : nullptr;
    std::optional<QuantSpec> has;
    if (unit.isPlanned)
        has = unit.planned;
    else if (const QuantSpec* spec = recipe->specOf(tensor))
        has = *spec;
    const bool canChange = lines.has_value() && tensor.isWeight();
    const bool isRule = own || recipe->book.first(tensor.name);
    add(menu, "tensorKeep", QObject::tr("Keep as it is"), canChange && has.has_value(), rule(std::nullopt));
    add(menu, "tensorThisSpec", QObject::tr("Give it %1").arg(ruleSpecText(session.spec())),
        canChange && !(has && isRule && *has == session.spec()), rule(session.spec()));
    if (!unit.choices.empty()) {
        auto* give = named(menu.addMenu(QObject::tr("Give it")), "tensorGive");
        for (const QuantSpec& spec : unit.choices)
            add(*give, specText(spec).c_str(), ruleSpecText(spec), canChange && !(own && own->spec == spec),
                rule(spec));
    }
    if (own)
        add(menu, "tensorUnlock", QObject::tr("Unlock (%1)").arg(ruleSpecText(own->spec)), canChange,
            change([](std::vector<TensorRule> rules, const std::string& name) {
                return withoutRuleFor(std::move(rules), name);
            }));
    else
        add(menu, "tensorLock", QObject::tr("Lock what it has: %1").arg(ruleSpecText(has)), canChange, rule(has));
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

void addTensorActions(QMenu& menu, Session& session, const TensorInfo& tensor) {
    UnitActions unit{tensor.name, {&tensor}};
    if (const auto& plan = session.plan(); plan && tensor.isWeight())
        unit.choices.assign(plan->options->specs.begin(),
                            plan->options->specs.begin() + std::ptrdiff_t(plan->options->choices));
    addUnitActions(menu, session, unit);
}

void popUpTensorMenu(QWidget& parent, const QPoint& global, Session& session, const TensorInfo& tensor) {
    auto* menu = named(new QMenu(&parent), "tensorMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    addTensorActions(*menu, session, tensor);
    menu->popup(global);
}

} // namespace qs::gui
