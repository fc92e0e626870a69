// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/compare/compare_figures.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"

#include <QHeaderView>
#include <QStyledItemDelegate>

namespace qs::gui {
namespace {

/// "+102.75" as "+102.8".
QString shorter(QString figure) {
    const QString sign = figure.front().isDigit() ? QString() : QString(figure.front());
    figure.remove(0, sign.size());
    return sign + QString::number(figure.toDouble(), 'f', 1);
}

/// Figures are text, because units differ by row, but are aligned as numbers. The verdict has a colour and a word.
class FigureDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        if (index.column() == 0) {
            option->font = Theme::words(11);
            return;
        }
        option->displayAlignment = Qt::AlignRight | Qt::AlignVCenter;
        option->font = index.column() == 4 ? Theme::words(11) : Theme::numbers(10);
        if (QFontMetrics(option->font).horizontalAdvance(option->text) + 8 > option->rect.width()) {
            if (option->text == u"not measured")
                option->text = QStringLiteral("–"); // the cards beside it give the reason
            else if (const auto unit = option->text.indexOf(u' '); option->text.endsWith(u"iB") && unit > 0)
                option->text = shorter(option->text.left(unit)) + option->text.mid(unit);
        }
        const auto& tokens = Theme::instance().tokens();
        if (index.column() == 4)
            option->palette.setColor(QPalette::Text, option->text == u"worse"    ? tokens.warn
                                                     : option->text == u"better" ? tokens.dataC
                                                                                 : tokens.muted);
    }
};

} // namespace

FigureTable::FigureTable(QWidget* parent) : QTableView(parent), rows_(new RowModel<FigureRow>(figureColumns(), this)) {
    setObjectName(QStringLiteral("figureTable"));
    asDataTable(*this, tr("Key figures of A and B and their difference"), 20);
    setModel(rows_);
    setItemDelegate(new FigureDelegate(this));
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* header = horizontalHeader();
    header->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    header->setSectionResizeMode(QHeaderView::Stretch);
    header->setMinimumSectionSize(40);
    for (const int column : {0, 3, 4}) header->setSectionResizeMode(column, QHeaderView::ResizeToContents);
}

void FigureTable::resizeEvent(QResizeEvent* event) {
    // A wide table gives its three columns of figures equal widths; a narrow one needs all pixels for the differences.
    horizontalHeader()->setSectionResizeMode(3, width() > 480 ? QHeaderView::Stretch : QHeaderView::ResizeToContents);
    // In a narrow table the longest names are elided; the tooltip has the full name.
    const bool narrow = width() < 380;
    horizontalHeader()->setSectionResizeMode(0, narrow ? QHeaderView::Fixed : QHeaderView::ResizeToContents);
    if (narrow) setColumnWidth(0, 84);
    QTableView::resizeEvent(event);
}

} // namespace qs::gui
