// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_embeddings.h"

#include "app/gui/pages/evidence/evidence_figures.h"
#include "app/gui/pages/evidence/evidence_plots.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/base/text.h"

#include <QGridLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QTableView>

namespace qs::gui {
namespace {

constexpr int kSeenSpecs = 5; ///< of the table, in a small window

} // namespace

EvidenceEmbeddings::EvidenceEmbeddings(QWidget* parent)
    : QWidget(parent), rows_(new RowModel<eval::EmbeddingRow>(eval::embeddingColumns(), this)),
      figures_(new EvidenceFigures(EvidenceFigures::Of::Embeddings)),
      table_(named(new QTableView, "evidenceEmbeddings")), chunks_(named(new PlotChart, "evidenceCosines")),
      shares_(named(new PlotChart, "evidenceCosineShares")), figuresCard_(new Card(tr("Effect on the embeddings"))),
      chunksCard_(new Card(tr("Cosine of each chunk"))), sharesCard_(new Card(tr("Chunks up to a cosine"))) {
    asDataTable(*table_, tr("Specs and what they do to the model's embeddings"));
    putFiguresOverTable(*figuresCard_, *figures_, *table_, *rows_);
    chunks_->setAccessibleName(tr("Cosine of each chunk's embedding with that of the reference"));
    chunks_->setAxes(tr("chunk of the text"), tr("cosine"));
    chunks_->setXDecimals(0);
    chunks_->setLegend(true);
    chunksCard_->setBody(chunks_);
    shares_->setAccessibleName(tr("Share of chunks whose cosine is not above x"));
    shares_->setAxes(tr("cosine"), tr("chunks, %"));
    sharesCard_->setBody(shares_);
    auto* grid = spaced(new QGridLayout(this), Theme::kGap);
    grid->addWidget(figuresCard_, 0, 0, 1, 2);
    grid->addWidget(chunksCard_, 1, 0);
    grid->addWidget(sharesCard_, 1, 1);
    for (const int side : {0, 1}) grid->setColumnStretch(side, 1);
    grid->setRowStretch(1, 1);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] { draw(); });
    setRecord(nullptr);
}

void EvidenceEmbeddings::setRecord(std::shared_ptr<const eval::EvaluationRecord> record) {
    record_ = std::move(record);
    std::vector<eval::EmbeddingRow> rows;
    bool refused = false, bad = false;
    if (record_)
        for (const auto& one : record_->embeddings) {
            rows.push_back(one.row);
            refused |= !one.row.reason.empty();
            bad |= one.row.summary && one.row.summary->notFinite > 0;
        }
    const int count = int(rows.size());
    rows_->setRows(std::move(rows));
    table_->setColumnHidden(int(eval::embeddingColumns().indexOf("reason")), !refused);
    table_->setColumnHidden(int(eval::embeddingColumns().indexOf("chunks_not_finite")), !bad);
    for (int i = 0; i < rows_->columnCount(); ++i) table_->resizeColumnToContents(i);
    if (count > 0) table_->selectRow(0);
    table_->setFixedHeight(table_->horizontalHeader()->sizeHint().height() + 4 +
                           std::clamp(count, 1, kSeenSpecs) * table_->verticalHeader()->defaultSectionSize());
    draw();
}

void EvidenceEmbeddings::draw() {
    const QString waiting = record_ ? QString() : tr("Appears when all chunks are read.");
    for (auto* card : {chunksCard_, sharesCard_}) card->setMessage(waiting);
    const int row = std::max(0, table_->currentIndex().row());
    const bool has = record_ && std::size_t(row) < record_->embeddings.size();
    if (!has) {
        figuresCard_->setNote({});
        figures_->clear(waiting);
        for (auto* chart : {chunks_, shares_}) chart->setData({}, {});
        return;
    }
    const eval::EmbeddingRow& chosen = record_->embeddings[std::size_t(row)].row;
    figuresCard_->setNote(besideReference(QString::fromStdString(chosen.spec), *record_));
    if (chosen.summary)
        figures_->setSummary(*chosen.summary);
    else
        figures_->clear(QString::fromStdString(oneSentence(chosen.reason)));
    chunks_->setData(cosineSeries(record_->embeddings), {});
    shares_->setData(cosineShares(record_->embeddings), {});
}

} // namespace qs::gui
