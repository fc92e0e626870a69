// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

class QWidget;

namespace qs::gui {

class Session;

/// Writes the window as PNG when nothing has been running for half a second (or after a minute), and quits: exit code 1
/// when the picture could not be written.
void shootWhenSettled(Session& session, QWidget& window, const QString& path);

} // namespace qs::gui
