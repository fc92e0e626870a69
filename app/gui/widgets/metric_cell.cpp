// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/metric_cell.h"

#include "app/gui/theme.h"

#include <QPainter>

#include <algorithm>

namespace qs::gui {

void MetricCell::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyledItemDelegate::paint(painter, option, index);
    const auto share = index.data(barRole_);
    if (!share.isValid()) return;
    const auto& theme = Theme::instance();
    const QRectF lane(option.rect.left() + 10, option.rect.bottom() - 2, option.rect.width() - 13, 2);
    painter->fillRect(lane, theme.tokens().line);
    const double width = std::max(1.0, lane.width() * std::clamp(share.toDouble(), 0.0, 1.0));
    painter->fillRect(QRectF(lane.left(), lane.top(), width, lane.height()), theme.tokens().dataC);
}

} // namespace qs::gui
