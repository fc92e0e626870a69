// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The look that every table of figures has.

#include <QString>

class QTableView;

namespace qs::gui {

/// Rows to read and select, not to edit: no grid, no row numbers, lines of `rowHeight`.
void asDataTable(QTableView& view, const QString& accessibleName, int rowHeight = 22);

} // namespace qs::gui
