// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/widgets/name_text.h"

namespace qs::gui {

/// Cells with a height of 22 px.
class RowHeight : public NameCell {
public:
    using NameCell::NameCell;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        return {QStyledItemDelegate::sizeHint(option, index).width(), 22};
    }
};

/// A number above a thin bar. The length of the bar is the share of the largest shown value; it is the model's role
/// `barRole`.
class MetricCell : public RowHeight {
public:
    MetricCell(int barRole, QObject* parent) : RowHeight(parent), barRole_(barRole) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    int barRole_;
};

} // namespace qs::gui
