// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How points of a sweep are shown: the columns of the table, and the text beside a dot.

#include "core/analysis/sweep/sweep.h"

#include <QString>

class QTableView;

namespace qs::gui {

class Session;

Columns<SweepPoint> sweepTableColumns(const Session& session);
/// Hides the columns of effects on the output that no row has. The model is a RowModel of sweepTableColumns().
void hideUnknownEffects(QTableView& table);
QString sweepPointText(const SweepPoint& point);

} // namespace qs::gui
