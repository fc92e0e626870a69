// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shows which layer inputs are used for metrics that weight the error by them; its menu changes them.

#include "app/gui/task.h"

#include <QToolButton>

namespace qs::gui {

class Session;

class InputsButton : public QToolButton {
    Q_OBJECT
public:
    explicit InputsButton(Session& session, QWidget* parent = nullptr);

private:
    void load(const QString& path);
    void refresh();
    Session& session_;
    Task task_; ///< opens the chosen file; a later choice cancels it
};

} // namespace qs::gui
