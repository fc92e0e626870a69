// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace qs::gui {

class MainWindow;

/// F1: every key, read off the menus.
void showKeysDialog(MainWindow& window);

} // namespace qs::gui
