// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The dot-general lab: three products of the selected layer with a spec for each operand, and the KV cache beside it.

#include "app/gui/pages/lab_panel.h"
#include "app/gui/row_model.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/value/kv_cache.h"
#include "core/value/product_lab.h"

#include <QTimer>

#include <array>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QTableView;

namespace qs::gui {

class Card;
class RankedBars;

class ProductsPanel : public LabPanel {
    Q_OBJECT
public:
    ProductsPanel(Session& session, const LabInputs& inputs, QWidget* parent = nullptr);
    const std::vector<value::LabRow>& rows() const { return model_->rows(); }
    const std::vector<value::KvRow>& cacheRows() const { return cache_->rows(); }
    QLineEdit* choice(value::LabOperand operand) const;

protected:
    void refresh() override;
    void interrupted() override;

private:
    struct Measured {
        Result<std::vector<value::LabRow>> products;
        Result<std::vector<value::KvRow>> cache;
    };
    std::array<Card*, 4> cards() const { return {tableCard_, barsCard_, tradeCard_, cacheCard_}; }
    QWidget* sidebar();
    void usePreset(int index);
    void readConfig();
    void run();
    void show(const Measured& measured);

    RowModel<value::LabRow>* model_;
    RowModel<value::KvRow>* cache_;
    QTableView *table_, *cacheTable_;
    RankedBars* bars_;
    PlotChart* trade_;
    Card *tableCard_, *barsCard_, *tradeCard_, *cacheCard_;
    QComboBox* preset_;
    QLabel* summary_;
    std::array<QComboBox*, value::kLabOperands> choices_{};
    QSpinBox *tokens_, *heads_, *cacheTokens_, *dim_;
    QPushButton* runButton_;
    QTimer settle_;
};

} // namespace qs::gui
