// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/tensor_browser.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/tensor_menu.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/metric_cell.h"
#include "app/gui/widgets/shared_painting.h"
#include "app/gui/widgets/tensor_tree.h"
#include "core/base/lists.h"

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

constexpr std::size_t kLarge = 20000;  // tensors; above it, values are updated less often
constexpr std::size_t kSelected = 500; // number of tensors that are selected in one turn
// rows; a larger tree stays folded, because a view lays out all its rows in one turn
constexpr int kUnfolded = 2000;

/// Counts all children, not only those fetched so far.
class Tensors final : public QTreeView {
public:
    void selectAll() override {
        while (model()->canFetchMore({})) model()->fetchMore({});
        QTreeView::selectAll();
    }
};

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
    : QWidget(parent), session_(session), tree_(new TensorTree(session, this)), view_(named(new Tensors, "tensors")),
      filter_(named(new QLineEdit, "filter")), metric_(named(new QComboBox, "metric")),
      asTree_(switchButton(QStringLiteral("Tree by layer"))), asTable_(switchButton(QStringLiteral("Flat table"))),
      shown_(named(new QLabel, "shownCount")) {
    setAccessibleName(QStringLiteral("Tensors"));
    setMinimumWidth(220);
    filter_->setPlaceholderText(QStringLiteral("Filter tensors (regex)   Ctrl+F"));
    filter_->setAccessibleName(QStringLiteral("Filter tensors by a regular expression"));
    filter_->setFont(Theme::code(12));
    filter_->setClearButtonEnabled(true);
    filter_->installEventFilter(this);
    metric_->setAccessibleName(QStringLiteral("Metric shown for each tensor"));
    for (const auto& metric : metrics()) {
        metric_->addItem(QString::fromUtf8(metric.title), QString::fromLatin1(metric.id));
        metric_->setItemData(metric_->count() - 1, session_.output().metricTip(metric, session_.spec()),
                             Qt::ToolTipRole);
    }
    metric_->setMinimumContentsLength(8);
    metric_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    dress(*shown_, Theme::words(11), "muted");
    asTree_->setChecked(true);
    asTree_->setObjectName(QStringLiteral("asTree"));
    asTable_->setObjectName(QStringLiteral("asTable"));

    SharedPainting::of(*view_->viewport(), SharedPainting::Fit::FromTheCorner);
    view_->setModel(tree_);
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

    auto* tools = spaced(new QHBoxLayout, 4);
    addWidgets(*tools, {asTree_, asTable_});
    tools->addWidget(shown_, 1);
    tools->addWidget(metric_);
    auto* column = spaced(new QVBoxLayout(this), Theme::kSpace, {Theme::kGap, Theme::kGap, Theme::kGap, Theme::kSpace});
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
    connect(&session.output(), &ModelOutput::trustChanged, this, [this] {
        for (int i = 0; i < metric_->count(); ++i)
            metric_->setItemData(i,
                                 session_.output().metricTip(*findMetric(metric_->itemData(i).toString().toStdString()),
                                                             session_.spec()),
                                 Qt::ToolTipRole);
    });
    connect(asTable_, &QToolButton::toggled, tree_, &TensorTree::setFlat);
    connect(tree_, &TensorTree::arranged, this, &TensorBrowser::followArrangement);
    connect(tree_, &TensorTree::surveyed, this, [this] {
        view_->viewport()->update();
        fitColumns();
    });
    connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &TensorBrowser::takeSelection);
    view_->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view_, &QTreeView::customContextMenuRequested, this, [this](const QPoint& at) {
        if (const auto* tensor = tree_->tensor(view_->indexAt(at)))
            popUpTensorMenu(*this, view_->viewport()->mapToGlobal(at), session_, *tensor);
    });
    connect(view_, &QTreeView::activated, this, [this](const QModelIndex& index) {
        if (tree_->tensor(index)) session_.showPage(kTensorPage);
    });
    connect(&session, &Session::modelChanged, this, &TensorBrowser::rebuild);
    connect(&session, &Session::tensorChanged, this, &TensorBrowser::followSession);
    const auto afresh = [this] {
        const QScopedValueRollback guard(following_, true);
        metric_->setCurrentIndex(metric_->findData(session_.metric()));
        tree_->refreshValues(true);
        if (tree_->sortedByValue()) tree_->rearrange();
        view_->viewport()->update();
    };
    connect(&session, &Session::specChanged, this, afresh);
    connect(&session, &Session::recipeChanged, this, afresh);
    connect(&session, &Session::metricChanged, this, afresh);
    connect(&session, &Session::rowsChanged, this, [this] {
        if (!rowsDelay_.isActive()) rowsDelay_.start(session_.weights().size() > kLarge ? 500 : 0);
    });
    connect(&session, &Session::jobFinished, this, [this] {
        // Sorted by name, rows do not move: sorting an expanded tree again would lay out all of it.
        if (!tree_->sortedByValue()) return;
        tree_->refreshValues(false);
        tree_->rearrange();
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
    const QScopedValueRollback guard(following_, true);
    opened_ = session_.model() != nullptr;
    tree_->followModel();
    countShown();
}

void TensorBrowser::followArrangement() {
    {
        const QScopedValueRollback guard(following_, true);
        view_->setRootIsDecorated(!tree_->isFlat());
        const bool unfold = opened_ || !filter_->text().isEmpty() || wasFlat_;
        if (!tree_->isFlat() && unfold && tree_->shown() <= kUnfolded) view_->expandAll();
        wasFlat_ = tree_->isFlat();
        opened_ = false;
    }
    fitColumns();
    countShown();
    followSession();
    if (std::exchange(enter_, false)) enterList();
}

void TensorBrowser::refreshRows() {
    tree_->refreshValues(false);
    view_->viewport()->update();
}

void TensorBrowser::applyFilter() {
    const QRegularExpression filter(filter_->text(), QRegularExpression::CaseInsensitiveOption);
    const bool valid = filter.isValid();
    filter_->setProperty("invalid", !valid);
    filter_->style()->unpolish(filter_);
    filter_->style()->polish(filter_);
    filter_->update();
    filter_->setToolTip(valid ? QString()
                              : QStringLiteral("Not a regular expression: %1 at character %2")
                                    .arg(filter.errorString())
                                    .arg(filter.patternErrorOffset()));
    countShown();
    if (valid) tree_->setFilter(filter); // otherwise the previous filter stays
}

/// Moves from the filter into the list, to the first match.
void TensorBrowser::enterList() {
    view_->setFocus();
    if (filter_->text().isEmpty() && tree_->indexOf(session_.tensor()).isValid()) return;
    const auto first = tree_->firstTensor();
    if (!first.isValid()) return;
    view_->setCurrentIndex(first);
    view_->scrollTo(first);
    if (tree_->tensor(first) != session_.tensor()) takeSelection();
}

void TensorBrowser::countShown() {
    const auto all = session_.model() ? int(session_.model()->tensors.size()) : 0;
    shown_->setText(filter_->text().isEmpty() ? QStringLiteral("%1").arg(all)
                                              : QStringLiteral("%1 of %2").arg(tree_->shown()).arg(all));
    const bool invalid = filter_->property("invalid").toBool();
    if (invalid) shown_->setText(QStringLiteral("not a regex"));
    const QString role = invalid ? QStringLiteral("warn") : QStringLiteral("muted");
    if (shown_->property("role").toString() != role) {
        shown_->setProperty("role", role);
        shown_->style()->polish(shown_);
    }
    shown_->setToolTip(invalid ? filter_->toolTip() : QStringLiteral("Tensors shown"));
}

void TensorBrowser::followSession() {
    const QScopedValueRollback guard(following_, true);
    const auto index = tree_->indexOf(session_.tensor());
    if (!index.isValid()) return;
    const auto current = view_->currentIndex();
    if (current.row() == index.row() && current.parent() == index.parent() &&
        view_->selectionModel()->isSelected(index))
        return;
    view_->setCurrentIndex(index);
    selectAllOf(session_.selection());
    view_->scrollTo(index);
}

/// Restores the selection after a switch of view or filter, as far as its tensors are shown.
void TensorBrowser::selectAllOf(const std::vector<const TensorInfo*>& tensors) {
    if (tensors.size() < 2 || tensors.size() > kSelected) return;
    QItemSelection rows;
    for (const auto* tensor : tensors)
        if (const auto index = tree_->indexOf(tensor); index.isValid()) rows.select(index, index);
    view_->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
}

void TensorBrowser::takeSelection() {
    if (following_) return;
    std::vector<const TensorInfo*> selection;
    for (const auto& index : view_->selectionModel()->selectedRows())
        if (const auto* tensor = tree_->tensor(index)) selection.push_back(tensor);
    session_.setSelection(std::move(selection));
    const auto* tensor = tree_->tensor(view_->currentIndex());
    // The current row may be the one that a click has just deselected: it must not change the rest of the selection.
    const auto& chosen = session_.selection();
    const auto isChosen = [&](const TensorInfo* one) { return contains(chosen, one); };
    if (tensor && !chosen.empty() && !isChosen(tensor)) tensor = isChosen(session_.tensor()) ? nullptr : chosen.front();
    if (tensor) session_.selectTensor(tensor);
}

void TensorBrowser::moveCurrent(int step) {
    auto index = view_->currentIndex();
    if (!index.isValid()) return view_->setCurrentIndex(tree_->firstTensor()); // filtered out
    for (;;) {
        index = step > 0 ? view_->indexBelow(index) : view_->indexAbove(index);
        if (!index.isValid()) return;
        if (tree_->tensor(index)) break; // skip groups
    }
    view_->setCurrentIndex(index);
}

const TensorInfo* TensorBrowser::tensorAtCursor(QRect* cell) const {
    const auto at = view_->viewport()->mapFromGlobal(QCursor::pos());
    auto index = view_->viewport()->rect().contains(at) ? view_->indexAt(at) : view_->currentIndex();
    if (!index.isValid()) index = view_->currentIndex();
    const auto rect = view_->visualRect(index);
    if (cell) *cell = QRect(view_->viewport()->mapToGlobal(rect.topLeft()), rect.size());
    return tree_->tensor(index);
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
    header->resizeSection(TensorTree::MetricValue, 82); // wide enough for "not measured"
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
    // Esc clears the filter first; then it is the key of the window.
    if (watched == filter_ && event->type() == QEvent::ShortcutOverride && !filter_->text().isEmpty() &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape)
        event->accept();
    if (watched == filter_ && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Down || key == Qt::Key_Return) {
            filterDelay_.stop();
            applyFilter();
            if (tree_->arranging())
                enter_ = true;
            else
                enterList();
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
