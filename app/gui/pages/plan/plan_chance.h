// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A measured plan beside uniform specs, rules of thumb and chance: what was found in sentences, and the figures of all.

#include "app/gui/row_model.h"
#include "core/plan/report.h"

#include <QWidget>

class QLabel;
class QTableView;

namespace qs::gui {

class Card;

class PlanChance : public QWidget {
    Q_OBJECT
public:
    explicit PlanChance(QWidget* parent = nullptr);
    void setMeasured(const plan::MeasuredPlan* measured, double bpw); ///< null: none
    QTableView* table() const { return table_; }
    QString verdicts() const;
    static QString measuredText(const plan::PlanProof& proof); ///< "4 of 43 measured"
    /// The first sentence on chance, short; measuredText() while plans are missing.
    static QString briefVerdict(const plan::PlanProof& proof);
    static bool isInside(const plan::PlanProof& proof); ///< inside the random band of either kind

private:
    Card *verdictCard_, *tableCard_;
    QLabel* verdicts_;
    QTableView* table_;
    RowModel<plan::Contender>* rows_;
};

} // namespace qs::gui
