// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/clipboard.h"

#include "app/gui/widgets/card.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/report/report.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QClipboard>
#include <QCursor>
#include <QHeaderView>
#include <QMimeData>
#include <QTableView>
#include <QTreeView>

namespace qs::gui {
namespace {

QList<int> visibleColumns(const QAbstractItemView& view) {
    QList<int> out;
    const auto* tree = qobject_cast<const QTreeView*>(&view);
    const auto* table = qobject_cast<const QTableView*>(&view);
    for (int column = 0; column < view.model()->columnCount(); ++column)
        if (!(tree && tree->isColumnHidden(column)) && !(table && table->isColumnHidden(column))) out << column;
    return out;
}

void collect(const QAbstractItemModel& model, const QModelIndex& parent, QModelIndexList& out) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const QModelIndex child = model.index(row, 0, parent); // a copy: the list is reallocated as it grows
        out << child;
        collect(model, child, out);
    }
}

template<class T> T* around(QWidget* widget) {
    for (; widget; widget = widget->parentWidget())
        if (auto* found = qobject_cast<T*>(widget)) return found;
    return nullptr;
}

} // namespace

QString asTsv(const QAbstractItemView& view) {
    const auto* model = view.model();
    const auto columns = visibleColumns(view);
    auto rows = view.selectionModel()->selectedRows();
    if (rows.size() < 2) {
        rows.clear();
        collect(*model, {}, rows);
    }
    QStringList lines, cells;
    for (const int column : columns) cells << model->headerData(column, Qt::Horizontal).toString();
    lines << cells.join(QLatin1Char('\t'));
    for (const auto& row : rows) {
        cells.clear();
        for (const int column : columns) {
            auto text = row.siblingAtColumn(column).data().toString();
            text.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
            // the text may be pasted into a spreadsheet
            cells << QString::fromStdString(harmlessCell(text.toStdString()));
        }
        lines << cells.join(QLatin1Char('\t'));
    }
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

void copyTable(QAbstractItemView* otherwise) {
    auto* view = around<QAbstractItemView>(QApplication::focusWidget());
    if (!view) view = otherwise;
    if (view && view->model()) QApplication::clipboard()->setText(asTsv(*view));
}

void copyPicture(QWidget* otherwise) {
    QWidget* target = around<Card>(QApplication::focusWidget());
    if (!target) target = around<Card>(QApplication::widgetAt(QCursor::pos()));
    if (!target) target = otherwise;
    if (!target) return;
    auto* mime = new QMimeData;
    mime->setImageData(target->grab().toImage());
    // A chart also gives its picture as SVG and its numbers.
    if (const auto charts = target->findChildren<PlotChart*>(); charts.size() == 1) {
        mime->setData(QStringLiteral("image/svg+xml"), charts.front()->asSvg());
        mime->setText(charts.front()->dataAsTsv());
    }
    QApplication::clipboard()->setMimeData(mime);
}

} // namespace qs::gui
