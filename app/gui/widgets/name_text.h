// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shortens names of tensors to fit by core's nameWithin(), which keeps the numbers of layers and experts.

#include <QStyledItemDelegate>

class QFont;

namespace qs::gui {

QString fittedName(const QString& name, const QFont& font, double width); ///< width in pixels

/// Item role of a model: true if the cell holds the name of a tensor.
constexpr int kNameRole = Qt::UserRole + 300;

/// Cells of a view; the text of cells with kNameRole is shortened as a name.
class NameCell : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace qs::gui
