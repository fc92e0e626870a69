// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The state that is written every few seconds, so that a crash loses little. It holds the view, no results.

#include <QDateTime>
#include <QString>
#include <QStringList>

class QSettings;

namespace qs::gui {

class Session;

struct SessionState {
    QString path, tensor, page;   ///< path "": no model was open
    QString specA, specB, metric; ///< specs as the user typed them
    bool comparing = false;
    QString as = {};    ///< the convention that the user chose for quantized layers, see OpenOptions; "": none
    QString saved = {}; ///< session file with the history and results of this state; "": none
    bool operator==(const SessionState&) const = default;
};

/// What the previous run of the program left.
struct FormerRun {
    SessionState last; ///< empty path: there is none
    QDateTime diedAt;  ///< when that run ended unexpectedly: the moment of `last`; otherwise invalid
};

/// "23:41:07", preceded by the date when it was not today.
QString momentText(const QDateTime& when);

SessionState readState(const QSettings& settings);
void writeState(QSettings& settings, const SessionState& state);

/// Reads recent files and the last state into the session. Writes both at most `milliseconds` after a change, on a
/// worker thread. When the session is destroyed, pending changes are written at once.
void keepSaved(Session& session, int milliseconds = 5000);

} // namespace qs::gui
