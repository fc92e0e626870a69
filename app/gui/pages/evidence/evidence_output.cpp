// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_output.h"

#include "app/gui/pages/evidence/evidence_figures.h"
#include "app/gui/pages/evidence/evidence_plots.h"
#include "app/gui/pages/evidence/evidence_tokens.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "core/base/text.h"

#include <QGridLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QTableView>
#include <QToolButton>

namespace qs::gui {
namespace {

constexpr int kTableRows = 5; ///< seen at once in a small window
constexpr int kTableAir = 4;  ///< px below the last row

Columns<eval::EvaluationRow> tableColumns() {
    auto out =
        eval::evaluationColumns().pick({"spec", "served_by", "matrices", "bytes", "bpw", "kl_mean", "kl_se_chunk",
                                        "kl_p99", "kl_max", "top1", "ppl", "dlnppl", "dp_rms", "nonfinite", "reason"});
    out.front().value = [](const eval::EvaluationRow& row) -> Value { return row.spec; }; // a recipe has its name
    return out;
}

} // namespace

EvidenceOutput::EvidenceOutput(QWidget* parent)
    : QWidget(parent), rows_(new RowModel<eval::EvaluationRow>(tableColumns(), this)), figures_(new EvidenceFigures),
      table_(new QTableView), running_(new PlotChart), distribution_(new PlotChart), positions_(new PlotChart),
      worst_(new EvidenceTokens), figuresCard_(new Card(tr("Effect on the output"))),
      runningCard_(new Card(tr("Mean KL so far"))), distributionCard_(new Card(tr("KL per token"))),
      positionsCard_(new Card(tr("KL against position"))), worstCard_(new Card(tr("Worst tokens in their text"))),
      logY_(runningCard_->addToggle(tr("log y"), tr("Logarithmic axes of KL"))) {
    build();
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
        if (!drawing_) draw();
    });
    logY_->setObjectName(QStringLiteral("evidenceLogY"));
    connect(logY_, &QToolButton::clicked, this, [this] { userScale_ = true; });
    connect(logY_, &QToolButton::toggled, this, [this](bool on) {
        running_->setLogY(on);
        positions_->setLogY(on);
    });
}

void EvidenceOutput::build() {
    asDataTable(*table_, tr("Specs and what they do to the model's output"));
    table_->setObjectName(QStringLiteral("evidenceTable"));
    putFiguresOverTable(*figuresCard_, *figures_, *table_, *rows_);
    running_->setObjectName(QStringLiteral("evidenceRunning"));
    running_->setAccessibleName(tr("Mean KL so far against scored tokens"));
    running_->setAxes(tr("scored tokens"), tr("mean KL, nats"));
    running_->setXDecimals(0);
    running_->setLegend(true);
    runningCard_->setBody(running_);
    distribution_->setObjectName(QStringLiteral("evidenceDistribution"));
    distribution_->setAccessibleName(tr("Distribution of the KL of tokens"));
    distribution_->setAxes(tr("KL of a token, nats"), tr("tokens, %"));
    distribution_->setXPowers(10);
    distributionCard_->setBody(distribution_);
    positions_->setObjectName(QStringLiteral("evidencePositions"));
    positions_->setAccessibleName(tr("Mean KL against the position in a chunk"));
    positions_->setAxes(tr("position in the chunk, tokens"), tr("mean KL, nats"));
    positions_->setXDecimals(0);
    positionsCard_->setBody(positions_);
    worstCard_->setBody(worst_);
    auto* grid = spaced(new QGridLayout(this), Theme::kGap);
    grid->addWidget(figuresCard_, 0, 0, 1, 2);
    grid->addWidget(runningCard_, 1, 0);
    grid->addWidget(distributionCard_, 1, 1);
    grid->addWidget(positionsCard_, 2, 0);
    grid->addWidget(worstCard_, 2, 1);
    for (const int side : {0, 1}) grid->setColumnStretch(side, 1);
    for (const int row : {1, 2}) grid->setRowStretch(row, 1);
}

void EvidenceOutput::setRecord(std::shared_ptr<const eval::EvaluationRecord> record) {
    record_ = std::move(record);
    live_.clear(), liveSpecs_.clear();
    std::vector<eval::EvaluationRow> rows;
    if (record_)
        for (const auto& change : record_->changes) rows.push_back(change.row);
    const int count = int(rows.size()), before = chosen();
    drawing_ = true;
    rows_->setRows(std::move(rows));
    showColumns();
    if (count > 0) table_->selectRow(std::clamp(before, 0, count - 1));
    const int shown = std::clamp(count, 1, kTableRows);
    table_->setFixedHeight(table_->horizontalHeader()->sizeHint().height() +
                           shown * table_->verticalHeader()->defaultSectionSize() + kTableAir);
    drawing_ = false;
    draw();
}

/// A figure that no spec has gets no column.
void EvidenceOutput::showColumns() {
    bool bad = false, refused = false, served = false;
    for (const auto& row : rows_->rows()) {
        bad |= row.summary && row.summary->notFinite > 0;
        refused |= !row.reason.empty();
        served |= !row.servedBy.empty();
    }
    table_->setColumnHidden(int(tableColumns().indexOf("served_by")), !served);
    table_->setColumnHidden(int(tableColumns().indexOf("nonfinite")), !bad);
    table_->setColumnHidden(int(tableColumns().indexOf("reason")), !refused);
    for (int i = 0; i < rows_->columnCount(); ++i) table_->resizeColumnToContents(i);
}

void EvidenceOutput::setLive(QStringList specs, EvidenceMail profiles) {
    if (record_) setRecord(nullptr);
    liveSpecs_ = std::move(specs), live_ = std::move(profiles);
    std::vector<eval::EvaluationRow> rows;
    for (const QString& spec : std::as_const(liveSpecs_)) rows.push_back({spec.toStdString(), {}, {}});
    if (rows_->rowCount() != int(rows.size())) {
        drawing_ = true;
        rows_->setRows(std::move(rows));
        showColumns();
        drawing_ = false;
    }
    draw();
}

int EvidenceOutput::chosen() const { return std::max(0, table_->currentIndex().row()); }

std::vector<NamedProfile> EvidenceOutput::profiles() const {
    std::vector<NamedProfile> out;
    if (record_)
        for (const auto& change : record_->changes)
            out.push_back({QString::fromStdString(change.row.label()), &change.profile});
    for (std::size_t i = 0; i < live_.size(); ++i) out.push_back({liveSpecs_.value(qsizetype(i)), &live_[i]});
    return out;
}

void EvidenceOutput::draw() {
    const auto all = profiles();
    const int row = std::min(chosen(), int(all.size()) - 1);
    const auto* change = record_ && row >= 0 ? &record_->changes[std::size_t(row)] : nullptr;
    const QString waiting = liveSpecs_.isEmpty() ? QString() : tr("Appears when all tokens are scored.");
    worst_->setChange(change);
    worstCard_->setMessage(change ? QString() : waiting);
    if (row < 0) {
        for (auto* chart : {running_, distribution_, positions_}) chart->setData({}, {});
        return figures_->clear({});
    }
    const QString spec = all[std::size_t(row)].name;
    const QString note = record_ ? besideReference(spec, *record_) : spec;
    for (auto* card : {figuresCard_, distributionCard_, worstCard_}) card->setNote(note);
    for (auto* card : {runningCard_, positionsCard_})
        card->setNote(record_ ? besideReference({}, *record_) : QString());
    if (change && change->row.summary)
        figures_->setSummary(*change->row.summary);
    else if (change)
        figures_->clear(QString::fromStdString(oneSentence(change->row.reason)));
    else
        figures_->setSoFar(*all[std::size_t(row)].profile);
    if (!userScale_) logY_->setChecked(spansDecades(all));
    running_->setData(runningSeries(all, row), {});
    positions_->setData(positionSeries(all, row), {});
    const auto plot = divergencePlot(*all[std::size_t(row)].profile, row);
    distribution_->setXRange(plot.lo, plot.hi);
    distribution_->setXCaption(plot.outside > 0 ? tr("%1 tokens beyond").arg(plot.outside) : QString());
    distribution_->setData({plot.bars}, change && change->row.summary ? percentileMarkers(*change->row.summary)
                                                                      : QVector<PlotMarker>());
}

} // namespace qs::gui
