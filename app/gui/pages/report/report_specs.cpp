// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/report/report_specs.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/session.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/lists.h"

#include <QSignalBlocker>

namespace qs::gui {

ReportSpecs::ReportSpecs(Session& session, QWidget* parent)
    : Card(tr("Specs"), parent), session_(session), ticks_(new TickList("reportSpecs", tr("Specs in the report"))) {
    connect(ticks_, &QListWidget::itemChanged, this, &ReportSpecs::changed);
    ticks_->setMinimumHeight(40); // pixels: nearly two specs in the least window
    setBody(ticks_);
    list();
}

void ReportSpecs::list() {
    const auto ticked = chosen();
    const bool first = ticks_->count() == 0;
    DistinctSpecs all;
    all.add(session_.spec());
    if (session_.comparing()) all.add(session_.specB());
    for (const auto& spec : session_.analysedSpecs()) all.add(spec);
    for (const auto& spec : ticked) all.add(spec);
    for (const auto& spec : SpecSetView::presets()) all.add(spec);
    const bool movedA = !listed_.empty() && !(listed_.front() == session_.spec());
    const QuantSpec before = listed_.empty() ? session_.spec() : listed_.front();
    listed_ = all.inOrder();
    const QSignalBlocker blocker(ticks_);
    ticks_->clear();
    for (const auto& spec : listed_) {
        bool on = contains(ticked, spec);
        if (movedA && spec == before) on = false;
        if (spec == session_.spec() && (first || movedA)) on = true;
        ticks_->add(QString::fromStdString(specText(spec)), on, QString::fromStdString(canonicalText(spec)));
    }
}

std::vector<QuantSpec> ReportSpecs::chosen() const {
    std::vector<QuantSpec> specs;
    for (int i = 0; i < ticks_->count(); ++i)
        if (ticks_->ticked(i)) specs.push_back(listed_[std::size_t(i)]);
    return specs;
}

} // namespace qs::gui
