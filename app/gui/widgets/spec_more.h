// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The seldom fields of a spec, and the spec as text, in a panel under the spec bar.

#include "core/quant/spec.h"

#include <QFrame>

#include <functional>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;

namespace qs::gui {

class SpecMore : public QFrame {
    Q_OBJECT
public:
    explicit SpecMore(std::function<void(const QuantSpec&)> apply, QWidget* parent = nullptr);
    void popUp(const QuantSpec& spec, QWidget* under);
    void follow(const QuantSpec& spec); ///< shows another spec

private:
    void apply(const QuantSpec& spec);
    void applyText();
    void applyAxes();
    std::function<void(const QuantSpec&)> apply_;
    QuantSpec spec_;
    QLineEdit *text_, *axes_;
    QComboBox *nan_, *compute_, *dialect_, *scaleType_, *zero_;
    QDoubleSpinBox* clip_;
    QLabel *problem_, *full_;
    bool showing_ = false;
};

} // namespace qs::gui
