// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an evaluation found, of all specs and of the one that is chosen in the table: figures, curves, worst tokens.

#include "app/gui/pages/evidence/evidence_run.h"
#include "app/gui/row_model.h"

#include <QWidget>

class QTableView;
class QToolButton;

namespace qs::gui {

class Card;
class EvidenceFigures;
class EvidenceTokens;
class PlotChart;
struct NamedProfile;

class EvidenceOutput : public QWidget {
    Q_OBJECT
public:
    explicit EvidenceOutput(QWidget* parent = nullptr);
    void setRecord(std::shared_ptr<const eval::EvaluationRecord> record); ///< null: nothing is shown
    /// While scores come: profiles of these specs, in place of a record.
    void setLive(QStringList specs, EvidenceMail profiles);
    PlotChart* running() const { return running_; }
    PlotChart* distribution() const { return distribution_; }
    PlotChart* positions() const { return positions_; }
    QTableView* table() const { return table_; }
    EvidenceTokens* worst() const { return worst_; }
    EvidenceFigures* figures() const { return figures_; }

private:
    void build();
    void showColumns();
    void draw();
    int chosen() const; ///< row of the table
    std::vector<NamedProfile> profiles() const;
    std::shared_ptr<const eval::EvaluationRecord> record_;
    QStringList liveSpecs_;
    EvidenceMail live_;
    bool drawing_ = false, userScale_ = false;
    RowModel<eval::EvaluationRow>* rows_;
    EvidenceFigures* figures_;
    QTableView* table_;
    PlotChart *running_, *distribution_, *positions_;
    EvidenceTokens* worst_;
    Card *figuresCard_, *runningCard_, *distributionCard_, *positionsCard_, *worstCard_;
    QToolButton* logY_;
};

} // namespace qs::gui
