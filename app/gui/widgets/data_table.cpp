// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/data_table.h"

#include "app/gui/widgets/name_text.h"
#include "app/gui/widgets/shared_painting.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>

namespace qs::gui {

void asDataTable(QTableView& view, const QString& accessibleName, int rowHeight) {
    SharedPainting::of(*view.viewport(), SharedPainting::Fit::FromTheCorner);
    view.setAccessibleName(accessibleName);
    view.setItemDelegate(new NameCell(&view));
    view.setFrameShape(QFrame::NoFrame);
    view.setShowGrid(false);
    view.setWordWrap(false);
    view.setEditTriggers(QAbstractItemView::NoEditTriggers);
    view.setSelectionBehavior(QAbstractItemView::SelectRows);
    view.verticalHeader()->hide();
    view.verticalHeader()->setDefaultSectionSize(rowHeight);
    view.horizontalHeader()->setHighlightSections(false);
    view.horizontalHeader()->setMinimumSectionSize(28); // room for a title of one letter over numbers
}

QTableView* sortableTable(QAbstractItemModel* rows, const char* objectName, const QString& accessibleName) {
    auto* view = new QTableView;
    auto* sorted = new QSortFilterProxyModel(view);
    sorted->setSourceModel(rows);
    sorted->setSortRole(Qt::UserRole);
    view->setObjectName(QLatin1String(objectName));
    view->setModel(sorted);
    view->setSortingEnabled(true);
    view->sortByColumn(-1, Qt::AscendingOrder);
    asDataTable(*view, accessibleName);
    view->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    return view;
}

} // namespace qs::gui
