// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The budget of a plan: a slider over all sizes that a file can have, the same in bits per weight and in GiB, and what
// the plan at this budget is.

#include "app/gui/pages/plan/plan_work.h"

#include <QWidget>

class QDoubleSpinBox;
class QLabel;
class QSlider;

namespace qs::gui {

class PlanBudget : public QWidget {
    Q_OBJECT
public:
    explicit PlanBudget(QWidget* parent = nullptr);
    void setAnswer(const PlanAnswer* answer); ///< null: none
    void setBpw(double bpw);                  ///< emits changed()
    QSlider* slider() const { return slider_; }
    QDoubleSpinBox* box() const { return box_; }

Q_SIGNALS:
    void changed(double bpw);

private:
    void showBytes();
    double bpwOf(int position) const;
    double least_ = 0, most_ = 0; ///< bits per weight
    std::uint64_t elements_ = 0;
    QSlider* slider_;
    QDoubleSpinBox* box_;
    QLabel *bytes_, *size_, *loss_, *gap_;
};

} // namespace qs::gui
