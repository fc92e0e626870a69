// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an evaluation of an encoder found: the cosine of embeddings with those of the reference, for each spec.

#include "app/gui/row_model.h"
#include "core/eval/run/record.h"

#include <QWidget>

class QTableView;

namespace qs::gui {

class Card;
class EvidenceFigures;
class PlotChart;

class EvidenceEmbeddings : public QWidget {
    Q_OBJECT
public:
    explicit EvidenceEmbeddings(QWidget* parent = nullptr);
    void setRecord(std::shared_ptr<const eval::EvaluationRecord> record); ///< null: nothing is shown yet
    PlotChart* chunks() const { return chunks_; }
    PlotChart* shares() const { return shares_; }
    QTableView* table() const { return table_; }
    EvidenceFigures* figures() const { return figures_; }

private:
    void draw();
    std::shared_ptr<const eval::EvaluationRecord> record_;
    RowModel<eval::EmbeddingRow>* rows_;
    EvidenceFigures* figures_;
    QTableView* table_;
    PlotChart *chunks_, *shares_;
    Card *figuresCard_, *chunksCard_, *sharesCard_;
};

} // namespace qs::gui
