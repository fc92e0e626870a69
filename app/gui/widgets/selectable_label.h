// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A label whose text can be selected once the mouse is over it. Until then it is no text document, which Qt would lay
// out anew in every pass over the layouts around it.

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
