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
    void setBpw(double bpw);                  ///< emits changed(), and chosen() but while the slider is dragged
    /// The budget was changed elsewhere: the next answer's is shown although the field has the focus.
    void follow() { follows_ = true; }
    QSlider* slider() const { return slider_; }
    QDoubleSpinBox* box() const { return box_; }

Q_SIGNALS:
    void changed(double bpw); ///< at every step of a drag
    void chosen(double bpw);  ///< at the end of a drag, and of every other change

private:
    void showBytes();
    double bpwOf(int position) const;
    double least_ = 0, most_ = 0; ///< bits per weight
    std::uint64_t elements_ = 0;
    bool follows_ = false;
    std::optional<double> dragged_; ///< where a drag that has not ended is
    QSlider* slider_;
    QDoubleSpinBox* box_;
    QLabel *bytes_, *size_, *loss_, *gap_;
};

} // namespace qs::gui
