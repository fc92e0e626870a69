// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Solvers on the selected layer: how much the error of its output falls on calibration inputs, and the result as a
// file.

#include "app/gui/pages/labs/lab_panel.h"
#include "app/gui/row_model.h"
#include "core/session/kept_labs.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QTableView;

namespace qs::gui {

class Card;
class StatusLine;

class SolversPanel : public LabPanel {
    Q_OBJECT
public:
    SolversPanel(Session& session, const LabInputs& inputs, QWidget* parent = nullptr);
    const std::vector<solve::SolveRow>& rows() const { return model_->rows(); }
    void saveTo(const QString& path); ///< writes the last solution in the native layout, as safetensors

Q_SIGNALS:
    void saved(const QString& path);

protected:
    void refresh() override;
    void interrupted() override;
    void forget() override;
    void failed(const QString& why) override;
    void complain(const QString& why) override;

private:
    /// A solution, and what it belongs to.
    struct Latest {
        std::shared_ptr<const Model> model;
        const TensorInfo* tensor = nullptr;
        QuantSpec spec;
        std::shared_ptr<const Solved> solved;
        solve::SolveRow row;
        bool fits = true; ///< small enough for a session file
    };
    QWidget* sidebar();
    void chooseSolver();
    void begin();
    void show(const KeptSolutions& solutions);
    void setRows(std::vector<solve::SolveRow> rows);
    void draw();

    RowModel<solve::SolveRow>* model_;
    QTableView* table_;
    RankedBars* bars_;
    Card *tableCard_, *barsCard_;
    QComboBox* solver_;
    QLineEdit* options_;
    QSpinBox* inputsCount_;
    QPushButton *start_, *save_;
    QLabel* about_;
    StatusLine* status_;
    std::shared_ptr<const Latest> latest_;
    std::shared_ptr<const KeptSolutions> kept_; ///< the solutions that the session stores
    bool restored_ = false; ///< kept_ came from a session file, and its settings are not in the fields yet
    QString subject_;       ///< tensor and spec of the rows
};

} // namespace qs::gui
