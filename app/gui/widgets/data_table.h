// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The common look of tables.

#include <QString>

class QTableView;

namespace qs::gui {

/// Sets up a read-only table: selectable rows of `rowHeight` pixels, no grid, no row numbers.
void asDataTable(QTableView& view, const QString& accessibleName, int rowHeight = 22);

} // namespace qs::gui
