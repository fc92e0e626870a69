// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Chooses a number format. Its list opens as columns by kind, all of them in view, with what the one under the mouse is.

#include <QComboBox>

namespace qs::gui {

class FormatBox : public QComboBox {
    Q_OBJECT
public:
    explicit FormatBox(QWidget* parent = nullptr);
    void addFormats(); ///< those that the registry has more: a user's own may join it
    void showPopup() override;
};

} // namespace qs::gui
