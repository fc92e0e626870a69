// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/report/report_parts.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"

#include <QCheckBox>

namespace qs::gui {

ReportParts::ReportParts(Session& session, QWidget* parent) : Card(tr("Contents"), parent), session_(session) {
    auto* parts = new QWidget;
    auto* column = new QVBoxLayout(parts);
    setSpaces(*column, 0);
    const std::tuple<bool ReportContents::*, QString, const char*> list[] = {
        {&ReportContents::summary, tr("Summary"), "summary"},
        {&ReportContents::heatMaps, tr("Layer × role maps"), "heatMaps"},
        {&ReportContents::ranking, tr("Worst tensors"), "ranking"},
        {&ReportContents::histograms, tr("Distribution over tensors"), "histograms"},
        {&ReportContents::codebooks, tr("Codes and levels"), "codebooks"},
        {&ReportContents::tensors, tr("Table of all tensors"), "tensors"},
        {&ReportContents::folders, tr("Folders of the files"), "folders"},
    };
    for (const auto& [part, title, name] : list)
        parts_.emplace_back(part, add(*column, name, title, ReportContents().*part));
    recipe_ = add(*column, "recipePart", tr("Recipe"), true, tr("What each weight becomes, and by which rule"));
    plan_ = add(*column, "planPart", tr("Plan"), true, tr("The plan of the page Plan, and its test against chance"));
    evidence_ = add(*column, "evidencePart", tr("Evidence of the output"), true,
                    tr("The last evaluation of the page Evidence"));
    allow();
    const auto know = [this] {
        allow();
        Q_EMIT changed();
    };
    connect(&session, &Session::recipeChanged, this, know);
    connect(&session.output(), &ModelOutput::evidenceChanged, this, know);
    connect(&session.decision(), &Decision::planChanged, this, know);
    setBody(parts);
}

QCheckBox* ReportParts::add(QLayout& column, const char* name, const QString& title, bool on, const QString& tip) {
    auto* box = named(new QCheckBox(title), name);
    box->setToolTip(tip);
    box->setChecked(on);
    connect(box, &QCheckBox::toggled, this, &ReportParts::changed);
    column.addWidget(box);
    return box;
}

void ReportParts::allow() {
    evidence_->setEnabled(bool(session_.output().evidence()));
    plan_->setEnabled(bool(session_.decision().plan()));
    recipe_->setEnabled(session_.recipe()->isMixed());
}

ReportContents ReportParts::contents() const {
    ReportContents contents;
    for (const auto& [part, box] : parts_) contents.*part = box->isChecked();
    return contents;
}

std::shared_ptr<const SessionRecipe> ReportParts::recipe() const {
    return recipe_->isChecked() && session_.recipe()->isMixed() ? session_.recipe() : nullptr;
}

std::shared_ptr<const plan::PlanRecord> ReportParts::plan() const {
    return plan_->isChecked() ? session_.decision().plan() : nullptr;
}

std::shared_ptr<const eval::EvaluationRecord> ReportParts::evidence() const {
    return evidence_->isChecked() ? session_.output().evidence() : nullptr;
}

} // namespace qs::gui
