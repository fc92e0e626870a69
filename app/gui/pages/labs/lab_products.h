// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The dot-general lab: the three products of the selected layer with a spec for each operand, and the KV cache.

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
    KeptProducts planned() const; ///< what run() would compute, without results
    void setFields(const KeptProducts& products);
    void run();
    bool reading();  ///< reads a session's result; refresh() follows
    bool showKept(); ///< shows a stored result if it answers the present question
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
    std::shared_ptr<const KeptProducts> kept_; ///< the result that the session stores
    /// the inputs it was computed on; empty if it came from a session file
    LabInputs keptInputs_;
    /// the result came from a session file, and its settings are not in the fields yet
    bool restored_ = false;
    bool sizesGiven_ = false; ///< the sizes come from the session file, not from the model
};

} // namespace qs::gui
