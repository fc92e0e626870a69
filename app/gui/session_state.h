// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is written down every few seconds, so that a crash loses little: where the user was, not what was computed.

#include <QDateTime>
#include <QString>
#include <QStringList>

class QSettings;

namespace qs::gui {

class Session;

struct SessionState {
    QString path, tensor, page;   ///< path "": nothing was open
    QString specA, specB, metric; ///< specs as they were typed
    bool comparing = false;
    QString saved = {}; ///< a session file with the history and the results of this; "": none
    bool operator==(const SessionState&) const = default;
};

/// "23:41:07", with the day when it was another one.
QString momentText(const QDateTime& when);

SessionState readState(const QSettings& settings);
void writeState(QSettings& settings, const SessionState& state);

/// Reads recent files and the last state into the session, and writes both at most `milliseconds` after a change, on a
/// worker thread; on destruction of the session what is left is written at once.
void keepSaved(Session& session, int milliseconds = 5000);

} // namespace qs::gui
