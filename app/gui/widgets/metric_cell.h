// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/widgets/name_text.h"

namespace qs::gui {

/// Rows of 22 px.
class RowHeight : public NameCell {
public:
    using NameCell::NameCell;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        return {QStyledItemDelegate::sizeHint(option, index).width(), 22};
    }
};

/// A number with a thin bar under it: its share of the largest value shown, from the model's role `barRole`.
class MetricCell : public RowHeight {
public:
    MetricCell(int barRole, QObject* parent) : RowHeight(parent), barRole_(barRole) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    int barRole_;
};

} // namespace qs::gui
