// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The recently opened files, newest first, at most 12.

#include <QObject>
#include <QStringList>

namespace qs::gui {

class RecentFiles : public QObject {
    Q_OBJECT
public:
    const QStringList& paths() const { return paths_; }
    void put(const QString& path); ///< moves the path to the front; emits no signal
    void add(const QString& path); ///< as put(), and emits changed()
    /// Appends paths and emits changed(). Paths that do not exist are dropped, on a worker thread.
    void append(const QStringList& paths);

Q_SIGNALS:
    void changed();

private:
    QStringList paths_;
};

} // namespace qs::gui
