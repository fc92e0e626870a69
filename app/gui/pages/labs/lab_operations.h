// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The lab of tensor operations: the cost of transpose, reshape, concatenate, slice, shard on a quantized tensor.

#include "app/gui/pages/labs/lab_panel.h"
#include "app/gui/row_model.h"
#include "core/session/kept_labs.h"

#include <QTimer>

class QComboBox;
class QLineEdit;
class QPushButton;
class QTableView;

namespace qs::gui {

class Card;
class RankedBars;
class StatusLine;

class OperationsPanel : public LabPanel {
    Q_OBJECT
public:
    OperationsPanel(Session& session, const LabInputs& inputs, QWidget* parent = nullptr);
    const std::vector<value::WhatIfRow>& rows() const { return model_->rows(); }
    QLineEdit* argument(std::size_t operation) const;

protected:
    void refresh() override;
    void forget() override;

private:
    QWidget* sidebar();
    std::vector<std::string> arguments() const;
    void run();
    bool reading();  ///< reads a session's result; refresh() follows
    bool showKept(); ///< shows a stored result if it answers the present question
    void show(std::vector<value::WhatIfRow> rows);
    void markRefused(const std::vector<value::WhatIfRow>& rows);

    RowModel<value::WhatIfRow>* model_;
    QTableView* table_;
    RankedBars *error_, *bytes_;
    Card *tableCard_, *errorCard_, *bytesCard_;
    std::vector<QComboBox*> arguments_; ///< values that fit the shape; others can be typed
    StatusLine* trouble_ = nullptr;
    QPushButton* runButton_ = nullptr;
    std::vector<std::int64_t> shape_; ///< the shape for which the arguments were listed
    QTimer settle_;
    std::shared_ptr<const KeptOperations> kept_; ///< the result that the session stores
    bool restored_ = false; ///< the result came from a session file, and its arguments are not in the fields yet
};

} // namespace qs::gui
