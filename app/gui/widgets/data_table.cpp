// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/data_table.h"

#include "app/gui/widgets/name_text.h"
#include "app/gui/widgets/shared_painting.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QTimer>

#include <algorithm>

namespace qs::gui {

namespace {

/// See fillWidth().
class WidthLeft : public QObject {
public:
    WidthLeft(QTableView& view, int least) : QObject(&view), view_(view), least_(least) {
        view.viewport()->installEventFilter(this);
        connect(view.horizontalHeader(), &QHeaderView::sectionResized, this, [this](int column, int, int pixels) {
            if (column != 0)
                later_.start();
            else if (!filling_) // by its contents, or by the user
                least_ = pixels;
        });
        later_.setSingleShot(true);
        connect(&later_, &QTimer::timeout, this, &WidthLeft::fill);
        fill();
    }

protected:
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::Resize) fill();
        return false;
    }

private:
    void fill() {
        auto* header = view_.horizontalHeader();
        int last = header->count() - 1;
        while (last > 0 && header->isSectionHidden(last)) --last;
        const int side = view_.model()->headerData(last, Qt::Horizontal, Qt::TextAlignmentRole).toInt();
        const bool isText = !(side & Qt::AlignRight);
        if (header->stretchLastSection() != isText) header->setStretchLastSection(isText);
        int others = 0;
        for (int i = 1; i <= last; ++i) others += header->sectionSize(i); // of a hidden one it is 0
        filling_ = true;
        header->resizeSection(0, isText ? least_ : std::max(least_, view_.viewport()->width() - others));
        filling_ = false;
    }
    QTableView& view_;
    int least_;
    QTimer later_;         ///< several columns change at once, and one that is being hidden is not hidden yet
    bool filling_ = false; ///< this object resizes the first column
};

} // namespace

void fillWidth(QTableView& view, int least) { new WidthLeft(view, least); }

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
