// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reports when a file of the open model changes or disappears while it is open (inotify). Analyses check this
// themselves; the message warns people who look at older results.

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
    /// Distinguishes a file from another one, and from an earlier version of itself.
    struct Identity {
        quint64 inode = 0, device = 0;
        qint64 size = -1, mtimeNs = 0;
        bool operator==(const Identity&) const = default;
    };
    static Identity identityOf(const QString& path); ///< size -1: the file does not exist
    void follow();
    void look();
    Session& session_;
    QFileSystemWatcher watcher_;
    QTimer settle_;
    QHash<QString, Identity> known_;
    QSet<QString> touched_;
};

} // namespace qs::gui
