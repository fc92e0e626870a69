// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Chooses a number format. The list shows all formats in columns, one for each kind, with a description of the one
// under the mouse.

#include <QComboBox>

namespace qs::gui {

class FormatBox : public QComboBox {
    Q_OBJECT
public:
    explicit FormatBox(QWidget* parent = nullptr);
    void addFormats(); ///< adds formats that were registered since, such as the user's own
    void showPopup() override;
};

} // namespace qs::gui
