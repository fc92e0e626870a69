// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The figures of A and B and their difference, as a table.

#include "app/gui/pages/compare/compare_plots.h"
#include "app/gui/row_model.h"

#include <QTableView>

namespace qs::gui {

class FigureTable : public QTableView {
    Q_OBJECT
public:
    explicit FigureTable(QWidget* parent = nullptr);
    void setFigures(std::vector<FigureRow> rows) { rows_->setRows(std::move(rows)); }

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    RowModel<FigureRow>* rows_;
};

} // namespace qs::gui
