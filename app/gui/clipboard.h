// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

class QAbstractItemView;
class QWidget;

namespace qs::gui {

/// The selected rows of a table or tree (all when fewer than two are selected), visible columns, with the header.
QString asTsv(const QAbstractItemView& view);
/// Copies the table that has the focus, else `otherwise`.
void copyTable(QAbstractItemView* otherwise);
/// Copies the card around the focused widget, or under the mouse, or `otherwise`, as a picture.
void copyPicture(QWidget* otherwise);

} // namespace qs::gui
