// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The tables of a run in one card: times, correctness, roofs, sums over the model, comparison with a baseline. The
// selected row is shown by the whole page.

#include "app/gui/bench_run.h"
#include "app/gui/row_model.h"
#include "app/gui/widgets/card.h"
#include "core/bench/report/compare.h"

#include <optional>

class QComboBox;
class QSortFilterProxyModel;
class QTableView;

namespace qs::gui {

class BenchTables : public Card {
    Q_OBJECT
public:
    explicit BenchTables(const BenchRun& bench, QWidget* parent = nullptr);
    void refresh();
    void select(int row); ///< a row of the run; selected in the tables that have it
    void setBaseline(BenchBaseline baseline);
    std::vector<ComparedRow> compared() const; ///< empty without a baseline

Q_SIGNALS:
    void rowSelected(int row);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    enum Choice { Times, Correctness, Roofs, Model, Baseline };
    void showChoice();
    void explain();
    void fitColumns();
    void giveWay();
    void setCompared();
    int nameColumn() const;
    int current() const; ///< a row of the run; -1: none
    const BenchRun& bench_;
    QTableView* view_;
    QComboBox* choice_;
    QSortFilterProxyModel* sorted_;
    RowModel<BenchmarkRow>*times_, *correctness_;
    RowModel<MeasuredRoof>* roofs_;
    RowModel<ModelPassRow>* passes_;
    RowModel<ComparedRow>* compared_;
    std::optional<BenchBaseline> baseline_;
    int nameWidth_ = 0; ///< width in pixels that names of variants or rows need
    int run_ = -1;      ///< number of the run whose rows are shown
    int selected_ = -1; ///< a row of the run, whether it is shown or not
};

} // namespace qs::gui
