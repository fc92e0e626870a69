// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What each tensor becomes: the strip over layers and roles, and the table of units with their locks. A click on a cell or
// on the spec of a row, or a menu on either, gives a unit a spec, locks it or opens its tensor.

#include "app/gui/pages/plan/plan_work.h"
#include "app/gui/row_model.h"
#include "app/gui/widgets/assignment_strip.h"

#include <QWidget>

class QSortFilterProxyModel;
class QTableView;

namespace qs::gui {

class Card;
class Session;

class PlanUnits : public QWidget {
    Q_OBJECT
public:
    explicit PlanUnits(Session& session, QWidget* parent = nullptr);
    void setAnswer(std::shared_ptr<const PlanAnswer> answer); ///< null: none
    void setMessage(const QString& sentence);                 ///< in the place of both; "" shows them
    AssignmentStrip* strip() const { return strip_; }
    QTableView* table() const { return table_; }
    int unitOfRow(int row) const; ///< of the table as it is sorted

private:
    void popUpMenu(int unit, const QPoint& global);
    void popUp(int unit, const QRect& cell); ///< what the unit could be
    void choose(int unit);                   ///< marks it in both, and selects its tensor in the session
    QString describe(int unit) const;
    StripData stripData() const;

    Session& session_;
    std::shared_ptr<const PlanAnswer> answer_;
    Card *stripCard_, *tableCard_;
    AssignmentStrip* strip_;
    QTableView* table_;
    QSortFilterProxyModel* sorted_;
    RowModel<plan::MixtureRow>* rows_;
    bool following_ = false;
};

} // namespace qs::gui
