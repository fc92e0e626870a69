// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/source_watch.h"

#include "app/gui/session.h"
#include "core/base/text.h"

#include <QFile>
#include <QFileInfo>

#include <sys/stat.h>

namespace qs::gui {
namespace {
constexpr int kSettleMs = 300;          ///< copying a file causes many changes in a row
constexpr qsizetype kMostFiles = 1'000; ///< each file needs a watch of the system and a call to look at it
} // namespace

SourceWatch::SourceWatch(Session& session, QObject* parent) : QObject(parent), session_(session) {
    settle_.setSingleShot(true);
    settle_.setInterval(kSettleMs);
    connect(&settle_, &QTimer::timeout, this, &SourceWatch::look);
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this, [this](const QString& path) {
        touched_.insert(path);
        settle_.start();
    });
    connect(&session, &Session::modelChanged, this, &SourceWatch::follow);
    follow();
}

SourceWatch::Identity SourceWatch::identityOf(const QString& path) {
    struct stat now {};
    if (::stat(QFile::encodeName(path).constData(), &now) != 0) return {};
    return {now.st_ino, now.st_dev, now.st_size, qint64(now.st_mtim.tv_sec) * 1'000'000'000 + now.st_mtim.tv_nsec};
}

void SourceWatch::follow() {
    if (const auto old = watcher_.files(); !old.isEmpty()) watcher_.removePaths(old);
    known_.clear();
    touched_.clear();
    settle_.stop();
    if (!session_.model()) return;
    for (const auto& file : session_.model()->files) {
        const QString path = QString::fromStdString(file.path);
        if (known_.size() >= kMostFiles) break;
        if (const auto identity = identityOf(path); identity.size >= 0) known_.insert(path, identity);
    }
    if (!known_.isEmpty()) watcher_.addPaths(known_.keys());
}

void SourceWatch::look() {
    QStringList changed;
    bool gone = false;
    for (const QString& path : std::exchange(touched_, {})) {
        const auto found = known_.find(path);
        if (found == known_.end()) continue;
        const auto now = identityOf(path);
        if (now == *found) continue;
        gone |= now.size < 0;
        *found = now;
        changed += path;
        // The path is in the list, but a new file at this path is not watched yet.
        watcher_.removePath(path);
        if (now.size >= 0) watcher_.addPath(path);
    }
    if (changed.isEmpty()) return;
    changed.sort();
    const auto name = QString::fromStdString(escapeForPeople(QFileInfo(changed.front()).fileName().toStdString(), 100));
    const QString what = changed.size() == 1 ? name : tr("%1 and %2 more").arg(name).arg(changed.size() - 1);
    Q_EMIT session_.noticed(
        gone ? tr("%1 is no longer where it was opened; the figures are from before.").arg(what)
             : tr("%1 changed on disk since it was opened; the figures are from before. Open it again.").arg(what));
}

} // namespace qs::gui
