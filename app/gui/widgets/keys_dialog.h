// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace qs::gui {

class MainWindow;

/// F1: shows every key; the list is read from the menus.
void showKeysDialog(MainWindow& window);

} // namespace qs::gui
