// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/plan_specs.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/pages/backends/plan_list.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/lists.h"
#include "core/bench/run/operands.h"

#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {

PlanSpecs::PlanSpecs(QVBoxLayout& column, Session& session, QWidget* parent)
    : QObject(parent), session_(session), list_(addPlanList(column, tr("Weights"), "planSpecs", 72)),
      typed_(named(new QLineEdit, "planAddSpec")) {
    typed_->setFont(Theme::code());
    typed_->setPlaceholderText(tr("Add a spec, e.g. nf4:block=32"));
    typed_->setAccessibleName(tr("Add a spec"));
    column.addWidget(typed_);
    connect(typed_, &QLineEdit::returnPressed, this, &PlanSpecs::addTyped);
    connect(list_, &QListWidget::itemChanged, this, &PlanSpecs::changed);
    refresh();
}

std::vector<PlanSpecs::Spec> PlanSpecs::ticked() const {
    std::vector<Spec> out;
    for (int i = 0; i < list_->count(); ++i)
        if (list_->ticked(i)) out.push_back(specs_[std::size_t(i)]);
    return out;
}

void PlanSpecs::fit() { list_->fit(); }

void PlanSpecs::wish(const std::vector<QuantSpec>& specs) {
    refresh();
    {
        const QSignalBlocker blocker(list_);
        for (int i = 0; i < list_->count(); ++i) list_->item(i)->setCheckState(Qt::Unchecked);
        for (const QuantSpec& spec : specs) {
            if (whyNotCrossing(spec)) continue; // no backend takes it
            const auto known = std::ranges::find_if(specs_, [&](const Spec& one) { return one.second == spec; });
            if (known != specs_.end()) {
                list_->tick(int(known - specs_.begin()));
                continue;
            }
            specs_.emplace_back(specText(spec), spec);
            list_->add(QString::fromStdString(specText(spec)), true);
        }
    }
    Q_EMIT changed();
}

void PlanSpecs::addTyped() {
    const QString text = typed_->text().trimmed();
    const auto spec = parseSpec(text.toStdString());
    if (!spec) return Q_EMIT complained(errorSentence(spec.error()));
    if (const auto why = whyNotCrossing(*spec)) return Q_EMIT complained(QString::fromStdString(*why));
    specs_.emplace_back(text.toStdString(), *spec);
    list_->add(text, true);
    typed_->clear();
    Q_EMIT changed();
}

/// Order: A and B, the specs of the recipe, formats that do not quantize, one spec for each other format. Initially A, another format and the
/// widest are ticked; later the ticks are kept.
void PlanSpecs::refresh() {
    if (!stale_) return;
    stale_ = false;
    std::vector<std::string> on = {specText(session_.spec())};
    if (session_.recipe()->isMixed()) {
        on.clear(); // what the recipe uses, whether spec A is among it or not
        for (const auto& spec : session_.recipe()->specs) on.push_back(specText(spec));
    }
    const auto presets = SpecSetView::presets();
    if (list_->count() > 0) {
        for (int i = 0; i < list_->count(); ++i)
            if (list_->ticked(i)) on.push_back(specs_[std::size_t(i)].first);
    } else {
        const auto other =
            std::ranges::find_if(presets, [&](const auto& spec) { return spec.format != session_.spec().format; });
        if (other != presets.end()) on.push_back(specText(*other));
        const auto widest = std::max_element(formats().begin(), formats().end(),
                                             [](const auto& a, const auto& b) { return a.bits < b.bits; });
        on.push_back(widest->id);
    }
    DistinctSpecs all;
    all.add(session_.spec());
    if (session_.comparing()) all.add(session_.specB());
    if (session_.recipe()->isMixed())
        for (const auto& spec : session_.recipe()->specs) all.add(spec);
    for (const auto& format : formats()) {
        if (format.kind != FormatKind::Identity) continue;
        QuantSpec spec;
        spec.format = format.id;
        all.add(spec);
    }
    for (const auto& spec : presets) all.add(spec);
    for (const auto& [text, spec] : specs_) all.add(spec);
    specs_.clear();
    for (const auto& spec : all.inOrder()) specs_.emplace_back(specText(spec), spec);
    const QSignalBlocker blocker(list_);
    list_->clear();
    for (const auto& [text, spec] : specs_) {
        const auto why = whyNotCrossing(spec);
        QString name = QString::fromStdString(text), tip = QString::fromStdString(canonicalText(spec));
        const auto& used = session_.recipe()->specs;
        if (contains(used, spec)) tip += u'\n' + tr("The recipe uses it.");
        if (why) name += tr("   no backend"), tip += u'\n' + QString::fromStdString(*why);
        list_->add(name, !why && contains(on, text), tip);
        if (why) list_->disable(list_->count() - 1);
    }
    Q_EMIT changed();
}

} // namespace qs::gui
