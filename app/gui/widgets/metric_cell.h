// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStyledItemDelegate>

namespace qs::gui {

/// A number with a thin bar under it: its share of the largest value shown, from the model's role `barRole`.
class MetricCell : public QStyledItemDelegate {
public:
    MetricCell(int barRole, QObject* parent) : QStyledItemDelegate(parent), barRole_(barRole) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    int barRole_;
};

} // namespace qs::gui
