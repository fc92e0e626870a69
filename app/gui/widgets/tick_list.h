// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A list to choose several of: a tick before each line, in the font of specs and shapes.

#include <QListWidget>

namespace qs::gui {

class TickList : public QListWidget {
    Q_OBJECT
public:
    TickList(const char* name, const QString& accessibleName, QWidget* parent = nullptr);
    void add(const QString& text, bool on, const QString& tip = {});
    void disable(int row); ///< grey, and not ticked
    bool ticked(int row) const { return item(row)->checkState() == Qt::Checked; }
    void tick(int row) { item(row)->setCheckState(Qt::Checked); }
    /// No higher than what it lists, but at least its minimum.
    void fit();
};

} // namespace qs::gui
