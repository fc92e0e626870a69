// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantization-aware training of the selected layer, with a live chart.

#include "app/gui/pages/labs/lab_panel.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/session/kept_labs.h"

#include <array>
#include <atomic>

class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace qs::gui {

class Card;
class StatusLine;

class QatPanel : public LabPanel {
    Q_OBJECT
public:
    QatPanel(Session& session, const LabInputs& inputs, QWidget* parent = nullptr);
    /// null: there is no result yet
    const value::QatResult* result() const { return shown_ ? &shown_->result : nullptr; }
    PlotChart* chart() const { return chart_; }
    void saveTo(const QString& path); ///< the latent (unrounded) weights, as safetensors

Q_SIGNALS:
    void saved(const QString& path);
    void kept(const QString& spec);

protected:
    void refresh() override;
    void interrupted() override;
    void forget() override;
    void failed(const QString& why) override;
    void complain(const QString& why) override;

private:
    QWidget* sidebar();
    void begin();
    void stop();
    void keep();  ///< stores the result as a named spec
    void lose();  ///< deletes the earlier result when another training starts
    void clear(); ///< clears the chart
    void show(const std::shared_ptr<const KeptTraining>& training);
    void draw();

    PlotChart* chart_;
    Card* chartCard_;
    std::array<QLabel*, 5> figures_{};
    QSpinBox *inputsCount_, *steps_;
    QDoubleSpinBox* rate_;
    QPushButton *start_, *stop_, *save_, *keep_;
    QLineEdit* name_;
    StatusLine* status_;
    std::shared_ptr<std::atomic<bool>> stopped_; ///< set to stop the running training, which reads it
    std::vector<value::QatStep> curve_;          ///< of the running or cancelled training
    KeptTraining planned_;                       ///< the settings of that training, without its result
    /// kept_: stored by the session; shown_: the same, if it belongs to the selection
    std::shared_ptr<const KeptTraining> kept_, shown_;
    bool restored_ = false; ///< kept_ came from a session file, and its settings are not in the fields yet
    QString subject_;       ///< tensor and spec of the chart
};

} // namespace qs::gui
