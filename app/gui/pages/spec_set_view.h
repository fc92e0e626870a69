// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Several specs over the whole model: the set, a spec x role or spec x tensor matrix, and a table of totals.

#include "app/gui/pages/overview_rows.h"
#include "app/gui/row_model.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QListWidget;
class QTableView;
class QToolButton;

namespace qs::gui {

class Card;
class Session;

class SpecSetView : public QWidget {
    Q_OBJECT
public:
    explicit SpecSetView(Session& session, QWidget* parent = nullptr);
    /// One spec per quantizing format of the registry, at its default block or per channel.
    static std::vector<QuantSpec> presets();
    std::vector<QuantSpec> chosen() const;

protected:
    void showEvent(QShowEvent*) override;

private:
    void buildList();
    void addTyped();
    void ask(); ///< starts what is chosen and not measured
    void changed();
    void refresh();
    void refreshMatrix(const Metric& metric);
    void open(int row, int column);

    Session& session_;
    RoleGrid grid_;
    std::vector<QuantSpec> listed_, shown_; ///< of the list; of the matrix
    std::vector<std::vector<int>> columns_; ///< of the matrix: weights
    std::vector<int> worst_;                ///< per cell, -1: none
    QListWidget* list_;
    QLineEdit* typed_;
    QLabel* complaint_;
    Card *matrixCard_, *totalsCard_;
    QToolButton* perTensor_;
    HeatMap* matrix_;
    QTableView* table_;
    RowModel<SpecTotal>* totals_;
    bool dirty_ = true;
};

} // namespace qs::gui
