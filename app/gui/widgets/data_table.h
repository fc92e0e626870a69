// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The common look of tables.

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace qs::gui {

/// Sets up a read-only table: selectable rows of `rowHeight` pixels, no grid, no row numbers.
void asDataTable(QTableView& view, const QString& accessibleName, int rowHeight = 22);
/// A new data table that its headers sort; it begins in the order of `rows`. The first column takes the space that is
/// left.
QTableView* sortableTable(QAbstractItemModel* rows, const char* objectName, const QString& accessibleName);

} // namespace qs::gui
