// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/recent_files.h"

#include "app/gui/task.h"

#include <QFileInfo>

namespace qs::gui {
namespace {
constexpr int kRecent = 12;
}

void RecentFiles::put(const QString& path) {
    paths_.removeAll(path);
    paths_.prepend(path);
    while (paths_.size() > kRecent) paths_.removeLast();
}

void RecentFiles::add(const QString& path) {
    put(path);
    Q_EMIT changed();
}

void RecentFiles::append(const QStringList& paths) {
    const auto work = [paths](const Job&) -> Result<QStringList> {
        QStringList existing;
        for (const auto& path : paths)
            if (QFileInfo::exists(path)) existing << path;
        return existing;
    };
    Task::once(this, work, [this](const QStringList& existing) {
        for (const auto& path : existing)
            if (!paths_.contains(path) && paths_.size() < kRecent) paths_ << path;
        Q_EMIT changed();
    });
}

} // namespace qs::gui
