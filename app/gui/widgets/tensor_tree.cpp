// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/tensor_tree.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/name_text.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"

#include <cmath>

namespace qs::gui {
namespace {

// internalId: 0 for the top level, otherwise 1 + the row of the group.
constexpr quintptr kTop = 0;
constexpr int kFetched = 50'000;      // rows announced at a time
constexpr std::size_t kLittle = 2000; // so many tensors are filtered, sorted and surveyed within 2 ms

} // namespace

TensorTree::TensorTree(Session& session, QObject* parent) : QAbstractItemModel(parent), session_(session) {}

bool TensorTree::little() const { return outline().count <= kLittle; }

// ---- what is shown -------------------------------------------------------------------------------------------------

void TensorTree::followModel() {
    arranging_.drop();
    surveying_.drop();
    beginResetModel();
    model_ = session_.model();
    layout_ = session_.layout();
    rows_ = {};
    survey_ = {};
    shown_ = {};
    shown_.flat = wish_.flat;
    fetched_ = 0;
    endResetModel();
    refreshValues(true);
    rearrange();
}

void TensorTree::setFlat(bool flat) {
    if (flat == wish_.flat) return;
    wish_.flat = flat;
    rearrange();
}

void TensorTree::setFilter(const QRegularExpression& filter) {
    if (filter == wish_.filter) return;
    wish_.filter = filter;
    rearrange();
}

void TensorTree::sort(int column, Qt::SortOrder order) {
    wish_.key = column < 0 ? ArrangementWish::ByName : ArrangementWish::Key(column);
    wish_.descending = order == Qt::DescendingOrder;
    rearrange();
}

void TensorTree::rearrange() {
    arranging_.drop();
    if (!model_) return;
    const auto work = [model = model_, layout = layout_, rows = rows_, metric = metric_,
                       wish = wish_](const Job& job) -> Result<TensorArrangement> {
        return arrange(*model, layout->outline, rows, metric, wish, job);
    };
    arranging_.runOrNow(little(), work, [this](Result<TensorArrangement> result) {
        if (result) show(std::move(*result));
        Q_EMIT arranged();
    });
}

void TensorTree::show(TensorArrangement arrangement) {
    if (arrangement.flat != shown_.flat || shown_.tensors.empty()) {
        beginResetModel();
        shown_ = std::move(arrangement);
        fetched_ = std::min(topRows(), kFetched);
        endResetModel();
        return;
    }
    Q_EMIT layoutAboutToBeChanged();
    const auto before = persistentIndexList();
    std::vector<int> tensors, groups; // the tensors and groups of persistent indices
    for (const auto& index : before) {
        tensors.push_back(tensorAt(index));
        groups.push_back(tensors.back() < 0 ? shown_.rows[std::size_t(index.row())] : -1);
    }
    shown_ = std::move(arrangement);
    fetched_ = std::min(topRows(), kFetched);
    for (const int tensor : tensors) // keep the selection
        if (tensor >= 0) fetched_ = std::max(fetched_, topRowOf(tensor) + 1);
    QModelIndexList after;
    for (qsizetype i = 0; i < before.size(); ++i) {
        const int tensor = tensors[std::size_t(i)], group = groups[std::size_t(i)];
        const int row = tensor < 0 ? shown_.rowOf[std::size_t(group)] : -1;
        after << (tensor >= 0                  ? place(tensor, before[i].column())
                  : row < 0 || row >= fetched_ ? QModelIndex()
                                               : createIndex(row, before[i].column(), kTop));
    }
    changePersistentIndexList(before, after);
    Q_EMIT layoutChanged();
}

void TensorTree::refreshValues(bool afresh) {
    const auto* before = std::exchange(metric_, findMetric(session_.metric().toStdString()));
    if (!model_) return;
    rows_ = session_.recipeRows();
    if (afresh) {
        surveying_.drop();
        if (metric_ != before) survey_.largest = 0; // the bars of another metric would be wrong
    }
    lookOver();
    // A view visits all rows of a changed range, and each of up to 14,000 groups has a range of its own. For a large
    // model the browser repaints its viewport instead.
    if (rowCount() > 0 && little()) Q_EMIT dataChanged(index(0, Bpw), index(rowCount() - 1, Flags));
    if (afresh) Q_EMIT headerDataChanged(Qt::Horizontal, MetricValue, MetricValue);
}

void TensorTree::lookOver() {
    surveyAgain_ = surveying_.running();
    if (surveyAgain_) return;
    const auto work = [rows = rows_, weights = layout_->weights.size(), metric = metric_](
                          const Job& job) -> Result<TensorSurvey> { return survey(rows, weights, metric, job); };
    surveying_.runOrNow(little(), work, [this](const Result<TensorSurvey>& result) {
        if (result) survey_ = *result;
        Q_EMIT surveyed();
        if (surveyAgain_) lookOver();
    });
}

// ---- indices -------------------------------------------------------------------------------------------------------

bool TensorTree::standsAlone(int row) const { return outline().order[std::size_t(shown_.rows[std::size_t(row)])] >= 0; }

const TensorOutline::Group& TensorTree::groupAt(int row) const {
    return outline().groups[std::size_t(~outline().order[std::size_t(shown_.rows[std::size_t(row)])])];
}

int TensorTree::tensorAt(const QModelIndex& index) const {
    if (!index.isValid()) return -1;
    const int row = index.row();
    if (shown_.isList) return shown_.tensors[std::size_t(row)];
    if (index.internalId() != kTop)
        return shown_.tensors[std::size_t(shown_.begin[std::size_t(index.internalId()) - 1] + row)];
    return standsAlone(row) ? shown_.tensors[std::size_t(shown_.begin[std::size_t(row)])] : -1;
}

const TensorInfo* TensorTree::tensor(const QModelIndex& index) const {
    const int at = tensorAt(index);
    return at < 0 ? nullptr : &model_->tensors[std::size_t(at)];
}

QModelIndex TensorTree::place(int tensor, int column) const {
    const int at = shown_.placeAt(tensor);
    if (at < 0) return {};
    if (shown_.isList) return createIndex(at, column, kTop);
    const int row = shown_.rowOf[std::size_t(outline().rowOf[std::size_t(tensor)])];
    if (standsAlone(row)) return createIndex(row, column, kTop);
    return createIndex(at - shown_.begin[std::size_t(row)], column, quintptr(row) + 1);
}

int TensorTree::topRowOf(int tensor) const {
    const int at = shown_.placeAt(tensor);
    return at < 0 || shown_.isList ? at : shown_.rowOf[std::size_t(outline().rowOf[std::size_t(tensor)])];
}

QModelIndex TensorTree::indexOf(const TensorInfo* tensor) {
    if (!tensor || !model_) return {};
    const auto at = tensor - model_->tensors.data();
    if (at < 0 || at >= std::ptrdiff_t(outline().count) || shown_.tensors.empty()) return {};
    while (topRowOf(int(at)) >= fetched_) fetchMore({});
    return place(int(at), 0);
}

bool TensorTree::hasChildren(const QModelIndex& parent) const {
    return parent.isValid() ? rowCount(parent) > 0 : topRows() > 0;
}

bool TensorTree::canFetchMore(const QModelIndex& parent) const { return !parent.isValid() && fetched_ < topRows(); }

void TensorTree::fetchMore(const QModelIndex& parent) {
    if (!canFetchMore(parent)) return;
    const int next = fetched_ + std::min(kFetched, topRows() - fetched_);
    beginInsertRows({}, fetched_, next - 1);
    fetched_ = next;
    endInsertRows();
}

QModelIndex TensorTree::firstTensor() const {
    return shown_.tensors.empty() ? QModelIndex() : place(shown_.tensors.front(), 0);
}

QModelIndex TensorTree::index(int row, int column, const QModelIndex& parent) const {
    if (row < 0 || column < 0 || column >= Columns || row >= rowCount(parent)) return {};
    return createIndex(row, column, parent.isValid() ? quintptr(parent.row()) + 1 : kTop);
}

QModelIndex TensorTree::parent(const QModelIndex& index) const {
    if (!index.isValid() || shown_.isList || index.internalId() == kTop) return {};
    return createIndex(int(index.internalId() - 1), 0, kTop);
}

int TensorTree::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid()) return fetched_;
    if (shown_.isList || parent.internalId() != kTop || parent.column() != 0 || standsAlone(parent.row())) return 0;
    const auto row = std::size_t(parent.row());
    return shown_.begin[row + 1] - shown_.begin[row];
}

int TensorTree::columnCount(const QModelIndex&) const { return Columns; }

Qt::ItemFlags TensorTree::flags(const QModelIndex& index) const {
    // Without this flag the view asks leaves for children, and each question creates a persistent index.
    const auto leaf = tensorAt(index) < 0 ? Qt::ItemFlags() : Qt::ItemFlags(Qt::ItemNeverHasChildren);
    return QAbstractItemModel::flags(index) | leaf;
}

// ---- cells ---------------------------------------------------------------------------------------------------------

const AnalysisRow& TensorTree::rowOf(int tensor) const { return rows_.at(std::size_t(outline().weightOf(tensor))); }

double TensorTree::metricOf(int tensor) const {
    return sortKey(model_->tensors[std::size_t(tensor)], rowOf(tensor), metric_, ArrangementWish::ByMetric);
}

QVariant TensorTree::metricText(int tensor) const {
    if (!model_->tensors[std::size_t(tensor)].isWeight()) return QStringLiteral("kept");
    const auto& row = rowOf(tensor);
    if (row && row->status != Status::Ok) return flagsOf(row, false);
    if (!metric_) return {};
    const double value = metricOf(tensor);
    return QString::fromStdString(cellText(metricColumn(*metric_), std::isnan(value) ? Value{} : Value{value}));
}

QVariant TensorTree::groupData(const TensorOutline::Group& group, int column, int role) const {
    if (role == Qt::DisplayRole) {
        if (column == Name) return group.title;
        if (column == Bytes) return QString::fromStdString(bytesText(group.bytes));
    }
    if (role == Qt::FontRole) return column == Name ? Theme::words(12, QFont::DemiBold) : Theme::numbers();
    if (role == Qt::ForegroundRole && column == Bytes) return Theme::instance().tokens().muted;
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignVCenter | (column == Name ? Qt::AlignLeft : Qt::AlignRight));
    if (role == Qt::ToolTipRole) return QStringLiteral("%1: %2 tensors").arg(group.title).arg(group.tensors.size());
    return {};
}

namespace {

/// From what a computed tensor is computed.
QString aboutDerived(const TensorInfo& info) {
    constexpr std::size_t most = 8;
    QString text = QStringLiteral("%1; values in %2")
                       .arg(QString::fromStdString(escapeForPeople(info.derived->description(), 200)),
                            QString::fromLatin1(qs::info(info.dtype).id));
    const auto parts = info.derived->parts();
    for (std::size_t i = 0; i < std::min(parts.size(), most); ++i)
        text += QStringLiteral("\n    %1   %2 %3")
                    .arg(QString::fromStdString(escapeForPeople(parts[i].name, 100)),
                         QString::fromLatin1(parts[i].typeId()), QString::fromStdString(shapeTimes(parts[i].shape)));
    return parts.size() > most ? text + QStringLiteral("\n    …") : text;
}

} // namespace

QString TensorTree::tip(int tensor, int column) const {
    const auto& info = model_->tensors[std::size_t(tensor)];
    const auto& row = rowOf(tensor);
    if (column == Flags) return flagsOf(row, true);
    if (column == MetricValue) {
        if (info.packed && !qs::info(info.dtype).quantizable)
            return QStringLiteral("Listed only: %1 is not decoded").arg(QString::fromLatin1(info.typeId()));
        if (!info.isWeight()) return QStringLiteral("Kept as it is: not a float tensor of rank 2 or more");
        if (!row) return QStringLiteral("Not measured under this spec yet");
        if (row->status != Status::Ok) return QString::fromStdString(row->reason);
        if (metric_ && std::isnan(metricOf(tensor))) {
            const char* why = metric_->whyMissing ? metric_->whyMissing(*row) : nullptr;
            return why ? QStringLiteral("Not measured: %1").arg(QString::fromUtf8(why)) : QString();
        }
    }
    const auto about = QStringLiteral("%1\n%2 %3")
                           .arg(TensorOutline::name(info), QString::fromLatin1(info.typeId()),
                                QString::fromStdString(shapeTimes(info.shape)));
    return info.derived ? about + u'\n' + aboutDerived(info) : about;
}

QVariant TensorTree::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const int at = tensorAt(index);
    if (at < 0) return groupData(groupAt(index.row()), index.column(), role);
    const auto& tensor = model_->tensors[std::size_t(at)];
    const auto& row = rowOf(at);
    const auto& tokens = Theme::instance().tokens();
    const int column = index.column();
    const bool known = row && row->status == Status::Ok;
    switch (role) {
    case Qt::DisplayRole:
        switch (column) {
        case Name: return shown_.flat ? TensorOutline::name(tensor) : outline().role(*model_, at);
        case Bytes: return QString::fromStdString(bytesText(storedBytes(tensor)));
        case Bpw: return known ? QString::fromStdString(fixedText(row->bpw, 2)) : QString();
        case MetricValue: return metricText(at);
        case Flags: return flagsOf(row, false);
        default: return {};
        }
    case kNameRole: return column == Name;
    case Qt::FontRole:
        if (column == Bpw || column == Bytes) return Theme::numbers();
        if (column == MetricValue) return known && !std::isnan(metricOf(at)) ? Theme::numbers() : Theme::words(11);
        return Theme::words(column == Flags ? 11 : 12);
    case Qt::ForegroundRole:
        if (column == Flags) return tokens.warn;
        if (!tensor.isWeight()) return tokens.muted;
        if (column == MetricValue && !row) return tokens.faint;
        if (column == MetricValue && std::isnan(metricOf(at))) return tokens.warn;
        return column == Bytes ? tokens.muted : tokens.text;
    case Qt::TextAlignmentRole:
        return int(Qt::AlignVCenter | (column == Name || column == Flags ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::ToolTipRole: return tip(at, column);
    case Sort:
        return column == Name || column == Flags
                   ? data(index, Qt::DisplayRole)
                   : QVariant(sortKey(tensor, row, metric_, ArrangementWish::Key(column)));
    case Bar: {
        const double value = metricOf(at);
        return column == MetricValue && survey_.largest > 0 && std::isfinite(value)
                   ? QVariant(std::min(1.0, std::abs(value) / survey_.largest))
                   : QVariant();
    }
    default: return {};
    }
}

QVariant TensorTree::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= Columns) return {};
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter | (section == Name || section == Flags ? Qt::AlignLeft : Qt::AlignRight));
    if (section == MetricValue && metric_) {
        if (role == Qt::DisplayRole) return QString::fromStdString(headerText(metricColumn(*metric_)));
        if (role == Qt::ToolTipRole) return session_.output().metricTip(*metric_, session_.spec());
    }
    static const char* titles[] = {"Tensor", "bpw ↓", "", "bytes", "flags"};
    static const char* tips[] = {"Name, by layer", "True stored bits per weight", "", "Bytes in the file",
                                 "NaN, outlier rows and columns, refusals, more bits than the source"};
    if (role == Qt::DisplayRole) return QString::fromUtf8(titles[section]);
    if (role == Qt::ToolTipRole) return QString::fromUtf8(tips[section]);
    return {};
}

} // namespace qs::gui
