// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/tensor_browser.h"

#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/metric_cell.h"
#include "app/gui/widgets/tensor_tree.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QRegularExpression>
#include <QScopedValueRollback>
#include <QStyle>
#include <QToolButton>
#include <QTreeView>

namespace qs::gui {
namespace {

constexpr int kLarge = 20000; // above it, values are fetched less often

QToolButton* switchButton(const QString& tip) {
    auto* button = new QToolButton;
    button->setCheckable(true);
    button->setAutoExclusive(true);
    button->setProperty("role", QStringLiteral("quiet"));
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setFixedWidth(30);
    return button;
}

} // namespace

TensorBrowser::TensorBrowser(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), tree_(new TensorTree(session, this)), order_(new TensorOrder(*tree_, this)),
      view_(new QTreeView), filter_(new QLineEdit), metric_(new QComboBox),
      asTree_(switchButton(QStringLiteral("Tree by layer"))), asTable_(switchButton(QStringLiteral("Flat table"))),
      shown_(new QLabel) {
    setAccessibleName(QStringLiteral("Tensors"));
    setMinimumWidth(220);
    filter_->setObjectName(QStringLiteral("filter"));
    filter_->setPlaceholderText(QStringLiteral("Filter tensors (regex)   Ctrl+F"));
    filter_->setAccessibleName(QStringLiteral("Filter tensors by a regular expression"));
    filter_->setClearButtonEnabled(true);
    filter_->installEventFilter(this);
    metric_->setObjectName(QStringLiteral("metric"));
    metric_->setAccessibleName(QStringLiteral("Metric shown for each tensor"));
    for (const auto& metric : metrics()) {
        metric_->addItem(QString::fromUtf8(metric.title), QString::fromLatin1(metric.id));
        metric_->setItemData(metric_->count() - 1, QString::fromUtf8(metric.formula), Qt::ToolTipRole);
    }
    metric_->setMinimumContentsLength(8);
    metric_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    shown_->setFont(Theme::words(11));
    shown_->setProperty("role", QStringLiteral("muted"));
    asTree_->setChecked(true);
    asTable_->setObjectName(QStringLiteral("asTable"));

    view_->setModel(order_);
    view_->setObjectName(QStringLiteral("tensors"));
    view_->setAccessibleName(QStringLiteral("Tensors of the model"));
    view_->setUniformRowHeights(true);
    view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    view_->setSelectionBehavior(QAbstractItemView::SelectRows);
    view_->setAllColumnsShowFocus(true);
    view_->setIndentation(12);
    view_->setTextElideMode(Qt::ElideMiddle); // names differ at their ends
    view_->setSortingEnabled(true);
    view_->sortByColumn(TensorTree::Name, Qt::AscendingOrder);
    view_->setItemDelegate(new RowHeight(view_));
    view_->setItemDelegateForColumn(TensorTree::MetricValue, new MetricCell(TensorTree::Bar, view_));
    view_->setMouseTracking(true);
    view_->header()->setStretchLastSection(false);
    view_->header()->setMinimumSectionSize(36);

    auto* tools = new QHBoxLayout;
    tools->setSpacing(4);
    tools->addWidget(asTree_);
    tools->addWidget(asTable_);
    tools->addWidget(shown_, 1);
    tools->addWidget(metric_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(Theme::kGap, Theme::kGap, Theme::kGap, Theme::kSpace);
    column->setSpacing(Theme::kSpace);
    column->addWidget(filter_);
    column->addLayout(tools);
    column->addWidget(view_, 1);

    filterDelay_.setSingleShot(true);
    filterDelay_.setInterval(80);
    rowsDelay_.setSingleShot(true);
    connect(&filterDelay_, &QTimer::timeout, this, &TensorBrowser::applyFilter);
    connect(&rowsDelay_, &QTimer::timeout, this, &TensorBrowser::refreshRows);
    connect(filter_, &QLineEdit::textChanged, this, [this] { filterDelay_.start(); });
    connect(metric_, &QComboBox::currentIndexChanged, this, [this](int at) {
        if (!following_) session_.setMetric(metric_->itemData(at).toString());
    });
    connect(asTable_, &QToolButton::toggled, this, [this](bool flat) {
        const QScopedValueRollback guard(following_, true);
        tree_->setFlat(flat);
        view_->setRootIsDecorated(!flat);
        view_->expandAll();
        fitColumns();
        followSession();
    });
    connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &TensorBrowser::takeSelection);
    connect(view_, &QTreeView::activated, this, [this](const QModelIndex& index) {
        if (tree_->tensor(order_->mapToSource(index))) Q_EMIT session_.pageRequested(QStringLiteral("tensor"));
    });
    connect(&session, &Session::modelChanged, this, &TensorBrowser::rebuild);
    connect(&session, &Session::tensorChanged, this, &TensorBrowser::followSession);
    const auto afresh = [this] {
        const QScopedValueRollback guard(following_, true);
        metric_->setCurrentIndex(metric_->findData(session_.metric()));
        tree_->refreshValues(true);
        view_->viewport()->update();
        fitColumns();
    };
    connect(&session, &Session::specChanged, this, afresh);
    connect(&session, &Session::metricChanged, this, afresh);
    connect(&session, &Session::rowsChanged, this, [this] {
        if (!rowsDelay_.isActive()) rowsDelay_.start(tree_->rowCount() > kLarge ? 500 : 0);
    });
    connect(&session, &Session::jobFinished, this, [this] {
        // Names do not move: sorting an expanded tree anew costs its whole layout.
        if (order_->sortColumn() > TensorTree::Name) order_->sort(order_->sortColumn(), order_->sortOrder());
    });
    const auto tint = [this] {
        const auto muted = Theme::instance().tokens().muted;
        asTree_->setIcon(Theme::icon(QStringLiteral("tree"), muted));
        asTable_->setIcon(Theme::icon(QStringLiteral("table"), muted));
    };
    connect(&Theme::instance(), &Theme::changed, this, tint);
    tint();
    afresh();
}

void TensorBrowser::rebuild() {
    const auto model = session_.model();
    if (!model) {
        tree_->setOutline(nullptr, {});
        return countShown();
    }
    runJob<TensorOutline>(
        this, Job(), [model](const Job&) -> Result<TensorOutline> { return outlineOf(*model); },
        [this, model](Result<TensorOutline> outline) {
            if (!outline || session_.model() != model) return;
            {
                const QScopedValueRollback guard(following_, true);
                tree_->setOutline(model, std::move(*outline));
                if (tree_->rowCount() < 200) view_->expandAll();
                fitColumns();
            }
            countShown();
            followSession();
        });
}

void TensorBrowser::refreshRows() {
    const bool hadFlags = tree_->anyFlags();
    tree_->refreshValues(false);
    view_->viewport()->update();
    if (tree_->anyFlags() != hadFlags) fitColumns();
}

void TensorBrowser::applyFilter() {
    const QRegularExpression filter(filter_->text(), QRegularExpression::CaseInsensitiveOption);
    const bool valid = filter.isValid();
    filter_->setProperty("invalid", !valid);
    filter_->style()->unpolish(filter_);
    filter_->style()->polish(filter_);
    filter_->setToolTip(valid ? QString()
                              : QStringLiteral("Not a regular expression: %1 at character %2")
                                    .arg(filter.errorString())
                                    .arg(filter.patternErrorOffset()));
    if (!valid) return; // the last filter stays
    {
        const QScopedValueRollback guard(following_, true);
        order_->setFilterRegularExpression(filter);
        if (!filter_->text().isEmpty()) view_->expandAll();
    }
    countShown();
    followSession();
}

void TensorBrowser::countShown() {
    int count = 0;
    for (int row = 0; row < order_->rowCount(); ++row) {
        const auto index = order_->index(row, 0);
        const int children = order_->rowCount(index);
        count += children > 0 ? children : tree_->tensor(order_->mapToSource(index)) ? 1 : 0;
    }
    const auto all = session_.model() ? int(session_.model()->tensors.size()) : 0;
    shown_->setText(filter_->text().isEmpty() ? QStringLiteral("%1").arg(all)
                                              : QStringLiteral("%1 of %2").arg(count).arg(all));
    shown_->setToolTip(QStringLiteral("Tensors shown"));
}

void TensorBrowser::followSession() {
    const QScopedValueRollback guard(following_, true);
    const auto index = order_->mapFromSource(tree_->indexOf(session_.tensor()));
    if (!index.isValid()) return;
    const auto current = view_->currentIndex();
    if (current.row() == index.row() && current.parent() == index.parent() &&
        view_->selectionModel()->isSelected(index))
        return;
    view_->setCurrentIndex(index);
    view_->scrollTo(index);
}

void TensorBrowser::takeSelection() {
    if (following_) return;
    std::vector<const TensorInfo*> selection;
    for (const auto& index : view_->selectionModel()->selectedRows())
        if (const auto* tensor = tree_->tensor(order_->mapToSource(index))) selection.push_back(tensor);
    session_.setSelection(std::move(selection));
    if (const auto* tensor = tree_->tensor(order_->mapToSource(view_->currentIndex()))) session_.selectTensor(tensor);
}

void TensorBrowser::moveCurrent(int step) {
    auto index = view_->currentIndex();
    for (;;) {
        index = step > 0 ? view_->indexBelow(index) : view_->indexAbove(index);
        if (!index.isValid()) return;
        if (tree_->tensor(order_->mapToSource(index))) break; // groups are passed over
    }
    view_->setCurrentIndex(index);
}

const TensorInfo* TensorBrowser::tensorAtCursor(QRect* cell) const {
    const auto at = view_->viewport()->mapFromGlobal(QCursor::pos());
    auto index = view_->viewport()->rect().contains(at) ? view_->indexAt(at) : view_->currentIndex();
    if (!index.isValid()) index = view_->currentIndex();
    const auto rect = view_->visualRect(index);
    if (cell) *cell = QRect(view_->viewport()->mapToGlobal(rect.topLeft()), rect.size());
    return tree_->tensor(order_->mapToSource(index));
}

void TensorBrowser::focusFilter() {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
}

void TensorBrowser::clearFilter() { filter_->clear(); }

void TensorBrowser::fitColumns() {
    auto* header = view_->header();
    const bool flat = tree_->isFlat(), wide = width() >= 380;
    header->setSectionResizeMode(TensorTree::Name, flat && !wide ? QHeaderView::Interactive : QHeaderView::Stretch);
    if (flat && !wide) header->resizeSection(TensorTree::Name, 230);
    header->resizeSection(TensorTree::Bpw, 50);
    header->resizeSection(TensorTree::MetricValue, 76);
    header->resizeSection(TensorTree::Bytes, 82);
    header->resizeSection(TensorTree::Flags, 66);
    view_->setColumnHidden(TensorTree::Bytes, !(flat || wide));
    view_->setColumnHidden(TensorTree::Flags, !(flat || (wide && tree_->anyFlags())));
}

void TensorBrowser::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitColumns();
}

bool TensorBrowser::eventFilter(QObject* watched, QEvent* event) {
    if (watched == filter_ && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Down || key == Qt::Key_Return) {
            filterDelay_.stop();
            applyFilter();
            view_->setFocus();
            // The filter may have taken the current row away, and the view has chosen another.
            const auto* current = tree_->tensor(order_->mapToSource(view_->currentIndex()));
            if (!current)
                moveCurrent(1);
            else if (current != session_.tensor())
                takeSelection();
            return true;
        }
        if (key == Qt::Key_Escape && !filter_->text().isEmpty()) {
            filter_->clear();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

void TensorBrowser::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), Theme::instance().tokens().surface); }

} // namespace qs::gui
