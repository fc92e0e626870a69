// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

class QWidget;

namespace qs::gui {

class Session;

/// Writes the window as PNG when nothing has been running for half a second (or after a minute), and quits: exit code 1
/// when the picture could not be written.
void shootWhenSettled(Session& session, QWidget& window, const QString& path);

/// With QS_TIMING=1: prints how long after the start of the process the window was painted with its model open, and with
/// all of it measured, and quits.
void timeStart(Session& session, QWidget& window);

} // namespace qs::gui
