// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantization-aware training of the selected layer, watched live.

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
    const value::QatResult* result() const { return shown_ ? &shown_->result : nullptr; } ///< null: none yet
    PlotChart* chart() const { return chart_; }
    void saveTo(const QString& path); ///< the latent weights, as safetensors

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
    void keep();  ///< the result as a spec of its own
    void lose();  ///< the earlier result: another one was begun and has not come
    void clear(); ///< the curve
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
    std::shared_ptr<std::atomic<bool>> stopped_;       ///< read by the training that runs
    std::vector<value::QatStep> curve_;                ///< of the training that is running, or was cancelled
    KeptTraining planned_;                             ///< that one, without its result
    std::shared_ptr<const KeptTraining> kept_, shown_; ///< what the session holds; the same if it is of the subject
    bool restored_ = false; ///< kept_ came out of a session file, and its settings are not in the fields yet
    QString subject_;       ///< tensor and spec of the curve
};

} // namespace qs::gui
