// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Saves what the window is working on as a .qscope file: when asked, and by itself, so that a crash loses a minute at
// most. All work is done on the pool.

#include "app/gui/task.h"
#include "core/session/session_file.h"

#include <QObject>
#include <QString>

namespace qs::gui {

class Session;
class SpecHistory;

class SessionSaver : public QObject {
    Q_OBJECT
public:
    SessionSaver(Session& session, SpecHistory& history, QObject* parent);

    /// The file that the session was opened from or saved to last; "": none.
    const QString& path() const { return path_; }
    /// Ends in saved() or Session::failed().
    void save(const QString& path);
    /// From now on, when something has changed, every `milliseconds`.
    void startAutosave(int milliseconds = 30'000);
    static QString autosavePath();  ///< in the user's folder for data
    static QString recoveredPath(); ///< where that of a run that ended unexpectedly is put aside

Q_SIGNALS:
    void saved(const QString& path);

private:
    struct Snapshot;
    Snapshot snapshot() const;
    void write(const QString& path, bool byItself);
    void opened(const SessionFile& file, const QString& path);
    Session& session_;
    SpecHistory& history_;
    QString path_;
    QByteArray written_; ///< what the autosave holds
    Task autosave_;
};

} // namespace qs::gui
