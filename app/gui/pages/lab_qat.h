// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantization-aware training of the selected layer, watched live.

#include "app/gui/pages/lab_panel.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/value/qat.h"

#include <QTimer>

#include <array>

class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace qs::gui {

class Card;

class QatPanel : public LabPanel {
    Q_OBJECT
public:
    QatPanel(Session& session, const LabInputs& inputs, QWidget* parent = nullptr);
    ~QatPanel() override;
    const std::optional<value::QatResult>& result() const { return result_; }
    PlotChart* chart() const { return chart_; }
    void saveTo(const QString& path); ///< the latent weights, as safetensors

Q_SIGNALS:
    void saved(const QString& path);
    void kept(const QString& spec);

protected:
    void refresh() override;
    void interrupted() override;

private:
    struct Inbox;
    QWidget* sidebar();
    void begin();
    void stop();
    void keep(); ///< the result as a spec of its own
    void poll();
    void draw();
    void say(const QString& text, bool warn = false);

    PlotChart* chart_;
    Card* chartCard_;
    std::array<QLabel*, 5> figures_{};
    QSpinBox *inputsCount_, *steps_;
    QDoubleSpinBox* rate_;
    QPushButton *start_, *stop_, *save_, *keep_;
    QLineEdit* name_;
    QLabel* status_;
    std::shared_ptr<Inbox> inbox_;
    std::vector<value::QatStep> curve_;
    std::optional<value::QatResult> result_;
    std::string tensorName_;
    QTimer poll_;
    QString subject_; ///< tensor and spec of the curve
};

} // namespace qs::gui
