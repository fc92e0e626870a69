// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Says when a file of the open model changes or goes while it is open (inotify). What is computed from it afterwards
// is checked by itself; this tells people before they trust what was computed from the file of before.

#include <QFileSystemWatcher>
#include <QHash>
#include <QObject>
#include <QSet>
#include <QTimer>

namespace qs::gui {

class Session;

class SourceWatch : public QObject {
public:
    explicit SourceWatch(Session& session, QObject* parent = nullptr);

private:
    /// What tells one file from another, and from itself before it was written to.
    struct Identity {
        quint64 inode = 0, device = 0;
        qint64 size = -1, mtimeNs = 0;
        bool operator==(const Identity&) const = default;
    };
    static Identity identityOf(const QString& path); ///< size -1: it is not there
    void follow();
    void look();
    Session& session_;
    QFileSystemWatcher watcher_;
    QTimer settle_;
    QHash<QString, Identity> known_;
    QSet<QString> touched_;
};

} // namespace qs::gui
