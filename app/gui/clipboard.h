// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

class QAbstractItemView;
class QWidget;

namespace qs::gui {

/// The visible columns of the selected rows, with the header, as tab-separated text. With fewer than two selected rows:
/// all rows.
QString asTsv(const QAbstractItemView& view);
/// Copies the table that has the keyboard focus; `otherwise` when no table has it.
void copyTable(QAbstractItemView* otherwise);
/// Copies a picture of the card around the focused widget or under the mouse; of `otherwise` when there is none.
void copyPicture(QWidget* otherwise);

} // namespace qs::gui
