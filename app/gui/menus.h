// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>
#include <QString>

class QMenu;

namespace qs::gui {

class MainWindow;

/// Every action with its key, in one menu of submenus; the actions belong to the window, so that the keys work.
QMenu* buildMenus(MainWindow& window);

/// What the keys overview prints: the actions' keys, then those of charts and lists.
struct KeyLine {
    QString group, keys, what;
};
QList<KeyLine> keyLines(const MainWindow& window);

} // namespace qs::gui
