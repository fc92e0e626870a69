// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>
#include <QString>

class QMenu;

namespace qs::gui {

class MainWindow;

/// Builds one menu of submenus with every action and its key. The window owns the actions, so that their keys work.
QMenu* buildMenus(MainWindow& window);

/// One line of the overview of keys: first the keys of actions, then those of charts and lists.
struct KeyLine {
    QString group, keys, what;
};
QList<KeyLine> keyLines(const MainWindow& window);

} // namespace qs::gui
