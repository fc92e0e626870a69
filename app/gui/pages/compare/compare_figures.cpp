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
    FigureDelegate(const RowModel<FigureRow>& rows, QObject* parent)
        : QStyledItemDelegate(parent), title_(rows.columnOf("figure")), verdict_(rows.columnOf("verdict")) {}
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        if (index.column() == title_) {
            option->font = Theme::words(11);
            return;
        }
        option->displayAlignment = Qt::AlignRight | Qt::AlignVCenter;
        option->font = index.column() == verdict_ ? Theme::words(11) : Theme::numbers(10);
        if (QFontMetrics(option->font).horizontalAdvance(option->text) + 8 > option->rect.width()) {
            if (option->text == u"not measured")
                option->text = QStringLiteral("–"); // the cards beside it give the reason
            else if (const auto unit = option->text.indexOf(u' '); option->text.endsWith(u"iB") && unit > 0)
                option->text = shorter(option->text.left(unit)) + option->text.mid(unit);
        }
        const auto& tokens = Theme::instance().tokens();
        if (index.column() == verdict_)
            option->palette.setColor(QPalette::Text, option->text == u"worse"    ? tokens.warn
                                                     : option->text == u"better" ? tokens.dataC
                                                                                 : tokens.muted);
    }

private:
    int title_, verdict_; // columns
};

} // namespace

FigureTable::FigureTable(QWidget* parent) : QTableView(parent), rows_(new RowModel<FigureRow>(figureColumns(), this)) {
    setObjectName(QStringLiteral("figureTable"));
    asDataTable(*this, tr("Key figures of A and B and their difference"), 20);
    setModel(rows_);
    setItemDelegate(new FigureDelegate(*rows_, this));
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* header = horizontalHeader();
    header->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    header->setSectionResizeMode(QHeaderView::Stretch);
    header->setMinimumSectionSize(40);
    for (const char* id : {"figure", "delta", "verdict"})
        header->setSectionResizeMode(rows_->columnOf(id), QHeaderView::ResizeToContents);
}

void FigureTable::resizeEvent(QResizeEvent* event) {
    // A wide table gives its three columns of figures equal widths; a narrow one needs all pixels for the differences.
    horizontalHeader()->setSectionResizeMode(rows_->columnOf("delta"),
                                             width() > 480 ? QHeaderView::Stretch : QHeaderView::ResizeToContents);
    // In a narrow table the longest names are elided; the tooltip has the full name.
    const bool narrow = width() < 380;
    const int title = rows_->columnOf("figure");
    horizontalHeader()->setSectionResizeMode(title, narrow ? QHeaderView::Fixed : QHeaderView::ResizeToContents);
    if (narrow) setColumnWidth(title, 84);
    QTableView::resizeEvent(event);
}

} // namespace qs::gui
