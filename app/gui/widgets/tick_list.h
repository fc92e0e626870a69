// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A list of choices with a check box in each line, in the font of specs and shapes.

#include <QListWidget>

namespace qs::gui {

class TickList : public QListWidget {
    Q_OBJECT
public:
    TickList(const char* name, const QString& accessibleName, QWidget* parent = nullptr);
    void add(const QString& text, bool on, const QString& tip = {});
    void disable(int row); ///< the line is grey and unchecked
    bool ticked(int row) const { return item(row)->checkState() == Qt::Checked; }
    void tick(int row) { item(row)->setCheckState(Qt::Checked); }
    /// Sets the height to that of the lines, but at least the minimum.
    void fit();
};

} // namespace qs::gui
