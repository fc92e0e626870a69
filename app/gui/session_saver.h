// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Saves the state of the window as a .qscope file: on request, and automatically, so that a crash loses at most a
// minute. All work runs on the thread pool.

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

    /// The file that the session was opened from or last saved to; "": none.
    const QString& path() const { return path_; }
    /// Ends with saved() or Session::failed().
    void save(const QString& path);
    /// Saves every `milliseconds` when something has changed.
    void startAutosave(int milliseconds = 30'000);
    static QString autosavePath();  ///< in the user's data folder
    static QString recoveredPath(); ///< the automatic save of a run that ended unexpectedly is moved here

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
    QByteArray written_; ///< key of the contents of the last automatic save
    Task autosave_;
};

} // namespace qs::gui
