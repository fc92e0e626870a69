// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The backends of a benchmark: the shipped ones, OpenBLAS with its own choice of core type, and plugins of the user.

#include "core/bench/backend/backend.h"

#include <QObject>
#include <QStringList>

class QVBoxLayout;

namespace qs::gui {

class TickList;

class PlanSources : public QObject {
    Q_OBJECT
public:
    PlanSources(QVBoxLayout& column, QWidget* parent);
    const std::vector<BackendSource>& all() const { return sources_; }
    std::vector<BackendSource> ticked() const;
    /// Adds a backend library, or a PJRT plugin for the backend pjrt. It is listed again after a restart, until
    /// removed.
    void addPlugin(const QString& path);
    void removePlugin(const QString& path);
    void fit(); ///< sets the height of the list

Q_SIGNALS:
    void listed();  ///< all() has changed
    void changed(); ///< ticked() has changed

private:
    void list();
    void keep();
    TickList* list_;
    std::vector<BackendSource> sources_; ///< a row of the list each
    QStringList plugins_;                ///< paths
};

} // namespace qs::gui
