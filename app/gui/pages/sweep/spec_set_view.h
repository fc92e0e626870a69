// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares several specs over the whole model: the list of specs, a matrix spec x role or spec x tensor, and totals.

#include "app/gui/pages/overview/overview_rows.h"
#include "app/gui/row_model.h"
#include "app/gui/task.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QTableView;
class QToolButton;

namespace qs::gui {

class TickList;
class Card;
class Session;

class SpecSetView : public QWidget {
    Q_OBJECT
public:
    explicit SpecSetView(Session& session, QWidget* parent = nullptr);
    /// One spec for each quantizing format, with its default block or per channel.
    static std::vector<QuantSpec> presets();
    std::vector<QuantSpec> chosen() const;

protected:
    void showEvent(QShowEvent*) override;

private:
    void buildList();
    void addTyped();
    void ask(); ///< starts chosen specs that are not measured
    void changed();
    /// All data that is drawn, taken at one moment.
    struct Picture {
        std::shared_ptr<const ModelLayout> layout = std::make_shared<ModelLayout>();
        std::vector<QuantSpec> specs; ///< rows of the matrix
        std::vector<ModelRows> rows;  ///< results for each spec
        const Metric* metric = nullptr;
        bool perTensor = false;
        HeatMapData map;
        std::vector<int> worst; ///< per cell: the weight whose value is shown; -1: none
        std::vector<SpecTotal> totals;
        void work(); ///< computes all other fields from the first five
    };
    void refresh();
    void show(std::shared_ptr<const Picture> picture);
    int weightAt(int row, int column) const;
    void open(int row, int column);

    Session& session_;
    std::vector<QuantSpec> listed_;
    std::shared_ptr<const Picture> picture_ = std::make_shared<Picture>(); ///< the picture on the screen
    Task task_;
    TickList* list_;
    QLineEdit* typed_;
    QLabel* complaint_;
    Card *matrixCard_, *totalsCard_;
    QToolButton* perTensor_;
    HeatMap* matrix_;
    QTableView* table_;
    RowModel<SpecTotal>* totals_;
    bool dirty_ = true, stale_ = false; ///< dirty_: the picture is out of date; stale_: the list is
};

} // namespace qs::gui
