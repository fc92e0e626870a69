// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Names of tensors on the screen: cut to their room by core's nameWithin(), so that numbers of layers and experts stay.

#include <QStyledItemDelegate>

class QFont;

namespace qs::gui {

QString fittedName(const QString& name, const QFont& font, double width); ///< px

/// Role of a model's cell: true, it holds the name of a tensor.
constexpr int kNameRole = Qt::UserRole + 300;

/// A view's cells; those with kNameRole are cut as names.
class NameCell : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace qs::gui
