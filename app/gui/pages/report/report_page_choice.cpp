// SPDX-License-Identifier: GPL-3.0-or-later
// What is in the report: parts, specs, and the files to write.
#include "app/gui/distinct_specs.h"
#include "app/gui/pages/report/report_page.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/status_line.h"
#include "app/gui/widgets/tick_list.h"

#include <QCheckBox>
#include <QDesktopServices>
#include <QGridLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kReportStatusLines = 2; // of what became of a file

} // namespace

QWidget* ReportPage::sidebar() {
    auto* side = new QWidget;
    side->setFixedWidth(320);
    auto* column = new QVBoxLayout(side);
    setSpaces(*column, Theme::kGap);

    auto* parts = new QWidget;
    auto* partsColumn = new QVBoxLayout(parts);
    setSpaces(*partsColumn, 0);
    const std::tuple<bool ReportContents::*, QString, const char*> list[] = {
        {&ReportContents::summary, tr("Summary"), "summary"},
        {&ReportContents::heatMaps, tr("Layer × role maps"), "heatMaps"},
        {&ReportContents::ranking, tr("Worst tensors"), "ranking"},
        {&ReportContents::histograms, tr("Distribution over tensors"), "histograms"},
        {&ReportContents::codebooks, tr("Codes and levels"), "codebooks"},
        {&ReportContents::tensors, tr("Table of all tensors"), "tensors"},
        {&ReportContents::folders, tr("Folders of the files"), "folders"},
    };
    for (const auto& [part, title, name] : list) {
        auto* box = new QCheckBox(title);
        box->setObjectName(QLatin1String(name));
        box->setChecked(ReportContents().*part);
        connect(box, &QCheckBox::toggled, this, &ReportPage::changed);
        partsColumn->addWidget(box);
        parts_.emplace_back(part, box);
    }
    recipe_ = addPart(*partsColumn, "recipePart", tr("Recipe"), tr("What each weight becomes, and by which rule"));
    planned_ =
        addPart(*partsColumn, "planPart", tr("Plan"), tr("The plan of the page Plan, and its test against chance"));
    evidence_ = addPart(*partsColumn, "evidencePart", tr("Evidence of the output"),
                        tr("The last evaluation of the page Evidence"));
    allowParts();
    for (auto signal : {&Session::evidenceChanged, &Session::planChanged, &Session::recipeChanged})
        connect(&session_, signal, this, [this] {
            allowParts();
            changed();
        });
    auto* partsCard = new Card(tr("Contents"));
    partsCard->setBody(parts);

    specs_ = new TickList("reportSpecs", tr("Specs in the report"));
    connect(specs_, &QListWidget::itemChanged, this, [this] {
        cancelled_ = false;
        changed();
    });
    auto* specsCard = new Card(tr("Specs"));
    specsCard->setBody(specs_);

    auto* files = new QWidget;
    auto* grid = new QGridLayout(files);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(Theme::kGap);
    grid->setVerticalSpacing(Theme::kSpace);
    grid->setColumnStretch(1, 1);
    for (const auto& writer : reportWriters()) {
        const int row = int(buttons_.size());
        auto* button = new QPushButton(QString::fromUtf8(writer.title));
        button->setMinimumWidth(104);
        button->setObjectName(QStringLiteral("write_") + QString::fromUtf8(writer.id));
        button->setToolTip(tr("%1: %2").arg(QString::fromUtf8(writer.title), QString::fromUtf8(writer.holds)));
        if (writer.id == std::string_view("html")) button->setProperty("role", QStringLiteral("primary"));
        button->setEnabled(false);
        connect(button, &QPushButton::clicked, this, [this, &writer] { write(writer); });
        auto* name = new QLabel;
        dress(*name, Theme::numbers(), "muted");
        grid->addWidget(button, row, 0);
        grid->addWidget(name, row, 1);
        buttons_.push_back(button);
        names_.push_back(name);
    }
    status_ = new StatusLine("reportStatus");
    // The text has its room from the start: otherwise the buttons would move when a file is written.
    status_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    status_->setFixedHeight(kReportStatusLines * status_->fontMetrics().lineSpacing() + 2);
    openFolder_ = new QPushButton(tr("Open folder"));
    openFolder_->hide();
    auto policy = openFolder_->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    openFolder_->setSizePolicy(policy);
    connect(openFolder_, &QPushButton::clicked, this,
            [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder_)); });
    grid->addWidget(status_, int(buttons_.size()), 0, 1, 2);
    grid->addWidget(openFolder_, int(buttons_.size()) + 1, 0);
    auto* filesCard = new Card(tr("Export"));
    filesCard->setBody(files);

    measure_ = named(new QPushButton(tr("Measure and compose")), "measureMissing", "primary");
    measure_->hide();
    connect(measure_, &QPushButton::clicked, this, [this] {
        cancelled_ = false;
        changed();
    });
    column->addWidget(partsCard);
    column->addWidget(specsCard, 1);
    column->addWidget(measure_);
    column->addWidget(filesCard);
    return side;
}

QCheckBox* ReportPage::addPart(QLayout& column, const char* name, const QString& title, const QString& tip) {
    auto* box = named(new QCheckBox(title), name);
    box->setToolTip(tip);
    box->setChecked(true);
    connect(box, &QCheckBox::toggled, this, &ReportPage::changed);
    column.addWidget(box);
    return box;
}

bool ReportPage::hasRecipe() const { return recipe_->isChecked() && session_.recipe()->isMixed(); }

void ReportPage::allowParts() {
    evidence_->setEnabled(bool(session_.evidence()));
    planned_->setEnabled(bool(session_.plan()));
    recipe_->setEnabled(session_.recipe()->isMixed());
}

void ReportPage::listSpecs() {
    stale_ = false;
    const auto ticked = chosen();
    const bool first = specs_->count() == 0;
    DistinctSpecs all;
    all.add(session_.spec());
    if (session_.comparing()) all.add(session_.specB());
    for (const auto& spec : session_.analysedSpecs()) all.add(spec);
    for (const auto& spec : ticked) all.add(spec);
    for (const auto& spec : SpecSetView::presets()) all.add(spec);
    const bool movedA = !listed_.empty() && !(listed_.front() == session_.spec());
    const QuantSpec before = listed_.empty() ? session_.spec() : listed_.front();
    listed_ = all.inOrder();
    const QSignalBlocker blocker(specs_);
    specs_->clear();
    for (const auto& spec : listed_) {
        bool on = std::find(ticked.begin(), ticked.end(), spec) != ticked.end();
        if (movedA && spec == before) on = false; // the tick of A moves with A
        if (spec == session_.spec() && (first || movedA)) on = true;
        specs_->add(QString::fromStdString(specText(spec)), on, QString::fromStdString(canonicalText(spec)));
    }
}

std::vector<QuantSpec> ReportPage::chosen() const {
    std::vector<QuantSpec> specs;
    for (int i = 0; i < specs_->count(); ++i)
        if (specs_->ticked(i)) specs.push_back(listed_[std::size_t(i)]);
    return specs;
}

ReportContents ReportPage::contents() const {
    ReportContents contents;
    for (const auto& [part, box] : parts_) contents.*part = box->isChecked() && box->isEnabled();
    return contents;
}

} // namespace qs::gui
