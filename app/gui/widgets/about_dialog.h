// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QWidget;

namespace qs::gui {

/// What the program is, its version and licence, and a table of its libraries with theirs.
void showAboutDialog(QWidget& window);

} // namespace qs::gui
