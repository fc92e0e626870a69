// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/name_text.h"

#include "core/base/short_name.h"

#include <QApplication>
#include <QFontMetricsF>

namespace qs::gui {

QString fittedName(const QString& name, const QFont& font, double width) {
    const QFontMetricsF metrics(font);
    if (metrics.horizontalAdvance(name) <= width) return name;
    return QString::fromStdString(qs::nameWithin(name.toStdString(), [&](std::string_view text) {
        return metrics.horizontalAdvance(QString::fromUtf8(text.data(), qsizetype(text.size()))) <= width;
    }));
}

void NameCell::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    if (!index.data(kNameRole).toBool()) return QStyledItemDelegate::paint(painter, option, index);
    QStyleOptionViewItem cell = option;
    initStyleOption(&cell, index);
    const QStyle* style = cell.widget ? cell.widget->style() : QApplication::style();
    const QRect room = style->subElementRect(QStyle::SE_ItemViewItemText, &cell, cell.widget);
    const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &cell, cell.widget) + 1;
    cell.text = fittedName(cell.text, cell.font, room.width() - 2 * margin);
    style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
}

} // namespace qs::gui
