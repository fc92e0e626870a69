// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A panel below the spec bar with the less used fields of a spec, and the spec as text.

#include "core/quant/spec/spec.h"

#include <QFrame>

#include <functional>
#include <string_view>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace qs::gui {

class SpecMore : public QFrame {
    Q_OBJECT
public:
    explicit SpecMore(std::function<void(const QuantSpec&)> apply, QWidget* parent = nullptr);
    void popUp(const QuantSpec& spec, QWidget* under);
    void follow(const QuantSpec& spec); ///< shows another spec

private:
    void connectControls();
    void apply(const QuantSpec& spec);
    void applyText();
    void applyAxes();
    /// Sets a key from typed text. `rest` is the spec without the key; "" leaves the key out.
    void applyKey(QLineEdit& edit, const QuantSpec& rest, std::string_view key, const QString& value);
    void say(const Error& refusal); ///< "" nothing; with a button for the first of what works
    std::function<void(const QuantSpec&)> apply_;
    QuantSpec spec_;
    QLineEdit *text_, *axes_, *numbers_, *tiles_, *sparsity_, *seed_;
    QComboBox *nan_, *compute_, *dialect_, *scaleType_, *zero_, *bits_, *flat_, *rounding_;
    QDoubleSpinBox* clip_;
    QLabel* problem_;
    QPushButton* instead_; ///< sets the text to the first spec that works
    QPlainTextEdit* full_; ///< wraps lines anywhere; copying gives the text without breaks
    bool showing_ = false;
};

} // namespace qs::gui
