// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>

class QWidget;

namespace qs::gui {

class Session;

/// Writes the window as PNG when nothing has run for half a second (or after one minute), then quits. The exit code is
/// 1 when the picture could not be written.
/// `presses`: names of buttons that are clicked before, one after another, each when the one before has ended.
void shootWhenSettled(Session& session, QWidget& window, const QString& path, const QStringList& presses = {});

/// For QS_TIMING=1: prints the time from the start of the process until the window was painted with its model, and
/// until all of it was measured; then quits.
void timeStart(Session& session, QWidget& window);

} // namespace qs::gui
