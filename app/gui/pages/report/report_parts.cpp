// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/report/report_parts.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"

#include <QCheckBox>
#include <QGridLayout>

namespace qs::gui {
namespace {

constexpr int kRows = 5; ///< of parts, in two columns

} // namespace

ReportParts::ReportParts(Session& session, QWidget* parent) : Card(tr("Contents"), parent), session_(session) {
    auto* parts = new QWidget;
    auto* grid = spaced(new QGridLayout(parts), 0);
    const std::tuple<bool ReportContents::*, const char*, QString, QString> list[] = {
        {&ReportContents::summary, "summary", tr("Summary"), tr("The figures of each spec over the whole model")},
        {&ReportContents::heatMaps, "heatMaps", tr("Layer × role maps"), tr("The error of each layer and role")},
        {&ReportContents::ranking, "ranking", tr("Worst tensors"), tr("The tensors with the largest errors")},
        {&ReportContents::histograms, "histograms", tr("Distribution"), tr("How the errors of all tensors spread")},
        {&ReportContents::codebooks, "codebooks", tr("Codes and levels"), tr("How often each code is used")},
        {&ReportContents::tensors, "tensors", tr("All tensors"), tr("A table with a row for every tensor")},
        {&ReportContents::folders, "folders", tr("Folders"), tr("The folders of the files; they may name you")},
    };
    for (const auto& [part, name, title, tip] : list)
        parts_.emplace_back(part, add(*grid, name, title, ReportContents().*part, tip));
    recipe_ = add(*grid, "recipePart", tr("Recipe"), true, tr("What each weight becomes, and by which rule"));
    plan_ = add(*grid, "planPart", tr("Plan"), true, tr("The plan of the page Plan, and its test against chance"));
    evidence_ = add(*grid, "evidencePart", tr("Evidence"), true, tr("The last evaluation of the page Evidence"));
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

QCheckBox* ReportParts::add(QGridLayout& grid, const char* name, const QString& title, bool on, const QString& tip) {
    auto* box = named(new QCheckBox(title), name);
    box->setToolTip(tip);
    box->setChecked(on);
    connect(box, &QCheckBox::toggled, this, &ReportParts::changed);
    const int at = grid.count(); // down the first column, then down the second one
    grid.addWidget(box, at % kRows, at / kRows);
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
