// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The common look of tables.

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace qs::gui {

/// Sets up a read-only table: selectable rows of `rowHeight` pixels, no grid, no row numbers.
void asDataTable(QTableView& view, const QString& accessibleName, int rowHeight = 22);
/// From now on the width that is left goes to the last visible column if it holds text; else to the first, which gets
/// `least` pixels or more: a number at the right edge would stand far from its row. The table must have its model.
void fillWidth(QTableView& view, int least);
/// A new data table that its headers sort; it begins in the order of `rows`. The first column takes the space that is
/// left.
QTableView* sortableTable(QAbstractItemModel* rows, const char* objectName, const QString& accessibleName);

} // namespace qs::gui
