// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A label whose text can be selected while the mouse is over it. Otherwise it is plain text: a text document would be
// laid out again in every layout pass.

#include <QLabel>

namespace qs::gui {

class SelectableLabel : public QLabel {
public:
    using QLabel::QLabel;

protected:
    void enterEvent(QEnterEvent* event) override {
        setTextInteractionFlags(Qt::TextSelectableByMouse);
        QLabel::enterEvent(event);
    }
};

} // namespace qs::gui
