// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The dot-general lab: three products of the selected layer with a spec for each operand, and the KV cache beside it.

#include "app/gui/pages/labs/lab_panel.h"
#include "app/gui/row_model.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/session/kept_labs.h"

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
    void forget() override;

private:
    struct Measured {
        Result<std::vector<value::LabRow>> products;
        Result<std::vector<value::KvRow>> cache;
    };
    QWidget* sidebar();
    void usePreset(int index);
    void readConfig();
    KeptProducts planned() const; ///< what run() would compute, without the rows
    void setFields(const KeptProducts& products);
    void run();
    bool reading();  ///< what a session file holds: refresh() follows
    bool showKept(); ///< where it is what run() would compute
    void show(const KeptProducts& measured);

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
    std::shared_ptr<const KeptProducts> kept_; ///< what the session holds
    LabInputs keptInputs_;                     ///< it was computed on; none where it came out of a session file
    bool restored_ = false;                    ///< it did, and its settings are not in the fields yet
    bool sizesGiven_ = false;                  ///< by it: not those that the model has
};

} // namespace qs::gui
