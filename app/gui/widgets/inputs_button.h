// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the layers are given, and the menu that changes it: for the metrics that weigh the error by it.

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
    Task task_; ///< of the file that is being opened; a later choice stops it
};

} // namespace qs::gui
