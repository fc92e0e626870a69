// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The files that were opened last, newest first, at most 12.

#include <QObject>
#include <QStringList>

namespace qs::gui {

class RecentFiles : public QObject {
    Q_OBJECT
public:
    const QStringList& paths() const { return paths_; }
    void put(const QString& path); ///< in front; emits nothing
    void add(const QString& path); ///< the same, and emits changed()
    /// Behind those that are there. Those that do not exist are dropped, on a worker thread; then changed() is emitted.
    void append(const QStringList& paths);

Q_SIGNALS:
    void changed();

private:
    QStringList paths_;
};

} // namespace qs::gui
