// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/tensor_tree.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/text.h"

#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// internalId: 0 for the top level, else group + 1.
constexpr quintptr kTop = 0;

QString escaped(const std::string& text, std::size_t most = 200) {
    return QString::fromStdString(escapeForPeople(text, most));
}

ColumnInfo columnOf(const Metric& metric) {
    return {.id = metric.id,
            .title = metric.title,
            .unit = metric.unit,
            .show = metric.show,
            .decimals = metric.decimals,
            .better = metric.better,
            .tip = metric.formula};
}

// Embeddings first, the stack, then final norms and the head: the order in which the model works.
int flowRank(const TensorOutline::Group& group, const Model& model) {
    if (!group.title.isEmpty()) return 1;
    const auto& name = model.tensors[std::size_t(group.tensors.front())].name;
    const auto has = [&name](std::initializer_list<const char*> words) {
        return std::any_of(words.begin(), words.end(),
                           [&name](const char* word) { return name.find(word) != std::string::npos; });
    };
    if (has({"head", "output", "classifier"})) return 3;
    return has({"norm", "ln_f"}) && !has({"embed"}) ? 2 : 0;
}

void orderByFlow(TensorOutline& out, const Model& model) {
    const auto layered = [](const TensorOutline::Group& group) { return !group.title.isEmpty(); };
    if (std::none_of(out.groups.begin(), out.groups.end(), layered)) return;
    std::stable_sort(out.groups.begin(), out.groups.end(),
                     [&model](const auto& a, const auto& b) { return flowRank(a, model) < flowRank(b, model); });
    for (std::size_t at = 0; at < out.groups.size(); ++at)
        for (const int tensor : out.groups[at].tensors) out.groupOf[std::size_t(tensor)] = int(at);
}

} // namespace

TensorOutline outlineOf(const Model& model) {
    TensorOutline out;
    QHash<QString, int> known;
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const auto& tensor = model.tensors[i];
        const auto place = placeOf(tensor.name);
        const auto title = place.layer >= 0 ? escaped(place.group) : QString();
        int at = title.isEmpty() ? -1 : known.value(title, -1);
        if (at < 0) {
            at = int(out.groups.size());
            out.groups.push_back({title, {}, 0});
            if (!title.isEmpty()) known.insert(title, at);
        }
        auto& group = out.groups[std::size_t(at)];
        out.names.push_back(escaped(tensor.name));
        out.roles.push_back(title.isEmpty() || place.role.empty() ? out.names.back() : escaped(place.role));
        out.groupOf.push_back(at);
        out.indexInGroup.push_back(int(group.tensors.size()));
        group.tensors.push_back(int(i));
        group.bytes += tensor.bytes;
    }
    orderByFlow(out, model);
    return out;
}

TensorTree::TensorTree(Session& session, QObject* parent) : QAbstractItemModel(parent), session_(session) {}

void TensorTree::setOutline(std::shared_ptr<const Model> model, TensorOutline outline) {
    beginResetModel();
    model_ = std::move(model);
    outline_ = std::move(outline);
    rows_.assign(outline_.names.size(), nullptr);
    values_.assign(outline_.names.size(), kNone);
    endResetModel();
    refreshValues(true);
}

void TensorTree::setFlat(bool flat) {
    if (flat == flat_) return;
    beginResetModel();
    flat_ = flat;
    endResetModel();
}

void TensorTree::refreshValues(bool afresh) {
    metric_ = findMetric(session_.metric().toStdString());
    if (!model_ || rows_.empty()) return;
    const auto& rows = session_.modelRows(session_.spec());
    if (afresh) {
        std::fill(rows_.begin(), rows_.end(), nullptr);
        std::fill(values_.begin(), values_.end(), kNone);
        largest_ = 0;
        anyFlags_ = false;
        firstUnknown_ = 0;
        known_ = 0;
    }
    const auto settled = [this](std::size_t i) { return rows_[i] || !model_->tensors[i].isWeight(); };
    while (firstUnknown_ < rows_.size() && settled(firstUnknown_)) ++firstUnknown_;
    for (std::size_t i = firstUnknown_; i < rows_.size() && known_ < rows.size(); ++i) {
        if (settled(i)) continue;
        rows_[i] = rows.value(QString::fromStdString(model_->tensors[i].name));
        if (!rows_[i]) continue;
        ++known_;
        if (metric_ && rows_[i]->status == Status::Ok) values_[i] = metric_->value(*rows_[i]).value_or(kNone);
        if (std::isfinite(values_[i])) largest_ = std::max(largest_, std::abs(values_[i]));
        anyFlags_ = anyFlags_ || !flagsOf(int(i), false).isEmpty();
    }
    Q_EMIT dataChanged(index(0, Bpw), index(rowCount() - 1, Flags));
    // Children are other ranges, 14,000 of them in a large model: the browser repaints its viewport instead.
    if (afresh) Q_EMIT headerDataChanged(Qt::Horizontal, MetricValue, MetricValue);
}

int TensorTree::tensorAt(const QModelIndex& index) const {
    if (!index.isValid()) return -1;
    const auto row = std::size_t(index.row());
    if (flat_) return int(row);
    if (index.internalId() != kTop) return outline_.groups[index.internalId() - 1].tensors[row];
    return standsAlone(row) ? outline_.groups[row].tensors.front() : -1;
}

const TensorInfo* TensorTree::tensor(const QModelIndex& index) const {
    const int at = tensorAt(index);
    return at < 0 ? nullptr : &model_->tensors[std::size_t(at)];
}

QModelIndex TensorTree::indexOf(const TensorInfo* tensor) const {
    if (!tensor || !model_ || outline_.names.empty()) return {};
    const auto at = tensor - model_->tensors.data();
    if (at < 0 || at >= std::ptrdiff_t(outline_.names.size())) return {};
    if (flat_) return index(int(at), 0);
    const auto group = std::size_t(outline_.groupOf[std::size_t(at)]);
    if (standsAlone(group)) return index(int(group), 0);
    return createIndex(outline_.indexInGroup[std::size_t(at)], 0, quintptr(group) + 1);
}

QModelIndex TensorTree::index(int row, int column, const QModelIndex& parent) const {
    if (row < 0 || column < 0 || column >= Columns || row >= rowCount(parent)) return {};
    return createIndex(row, column, parent.isValid() ? quintptr(parent.row()) + 1 : kTop);
}

QModelIndex TensorTree::parent(const QModelIndex& index) const {
    if (!index.isValid() || flat_ || index.internalId() == kTop) return {};
    return createIndex(int(index.internalId() - 1), 0, kTop);
}

int TensorTree::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid()) return int(flat_ ? outline_.names.size() : outline_.groups.size());
    if (flat_ || parent.internalId() != kTop || parent.column() != 0) return 0;
    const auto group = std::size_t(parent.row());
    return standsAlone(group) ? 0 : int(outline_.groups[group].tensors.size());
}

int TensorTree::columnCount(const QModelIndex&) const { return Columns; }

QString TensorTree::flagsOf(int tensor, bool sentence) const {
    const auto& row = rows_[std::size_t(tensor)];
    if (!row) return {};
    if (row->status != Status::Ok)
        return sentence                         ? QString::fromStdString(row->reason)
               : row->status == Status::Refused ? QStringLiteral("refused")
                                                : QStringLiteral("failed");
    QStringList flags;
    if (row->nan) flags << (sentence ? QStringLiteral("%1 NaN").arg(row->nan) : QStringLiteral("NaN"));
    if (row->inf) flags << (sentence ? QStringLiteral("%1 Inf").arg(row->inf) : QStringLiteral("Inf"));
    if (row->statistics && row->statistics->outlierChannels > 0)
        flags << (sentence ? QStringLiteral("%1 outlier channels").arg(row->statistics->outlierChannels)
                           : QStringLiteral("outliers"));
    if (!row->warnings.empty()) {
        if (sentence)
            for (const auto& warning : row->warnings) flags << QString::fromStdString(warning);
        else
            flags << QStringLiteral("warning");
    }
    return flags.join(QStringLiteral(", "));
}

QVariant TensorTree::metricText(int tensor) const {
    const auto at = std::size_t(tensor);
    if (!model_->tensors[at].isWeight()) return QStringLiteral("kept");
    if (rows_[at] && rows_[at]->status != Status::Ok) return flagsOf(tensor, false);
    if (!metric_) return {};
    const auto value = std::isnan(values_[at]) ? Value{} : Value{values_[at]};
    return QString::fromStdString(cellText(columnOf(*metric_), value));
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

QVariant TensorTree::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const int at = tensorAt(index);
    if (at < 0) return groupData(outline_.groups[std::size_t(index.row())], index.column(), role);
    const auto& tensor = model_->tensors[std::size_t(at)];
    const auto& row = rows_[std::size_t(at)];
    const auto& tokens = Theme::instance().tokens();
    const int column = index.column();
    const bool known = row && row->status == Status::Ok;
    switch (role) {
    case Qt::DisplayRole:
        switch (column) {
        case Name: return flat_ ? outline_.names[std::size_t(at)] : outline_.roles[std::size_t(at)];
        case Bytes: return QString::fromStdString(bytesText(tensor.bytes));
        case Bpw: return known ? QString::fromStdString(fixedText(row->bpw, 2)) : QString();
        case MetricValue: return metricText(at);
        case Flags: return flagsOf(at, false);
        default: return {};
        }
    case Qt::FontRole:
        if (column == Bpw || column == Bytes) return Theme::numbers();
        if (column == MetricValue)
            return known && !std::isnan(values_[std::size_t(at)]) ? Theme::numbers() : Theme::words(11);
        return Theme::words(column == Flags ? 11 : 12);
    case Qt::ForegroundRole:
        if (column == Flags) return tokens.warn;
        if (!tensor.isWeight()) return tokens.muted;
        if (column == MetricValue && row && std::isnan(values_[std::size_t(at)])) return tokens.warn;
        if (column == MetricValue && !row) return tokens.faint;
        return column == Bytes ? tokens.muted : tokens.text;
    case Qt::TextAlignmentRole:
        return int(Qt::AlignVCenter | (column == Name || column == Flags ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::ToolTipRole: {
        if (column == Flags) return flagsOf(at, true);
        if (column == MetricValue && !tensor.isWeight())
            return QStringLiteral("Kept as it is: not a float tensor of rank 2 or more");
        if (column == MetricValue && row && !known) return QString::fromStdString(row->reason);
        if (column == MetricValue && known && metric_ && std::isnan(values_[std::size_t(at)])) {
            const char* why = metric_->whyMissing ? metric_->whyMissing(*row) : nullptr;
            return why ? QStringLiteral("Not measured: %1").arg(QString::fromUtf8(why)) : QString();
        }
        if (column == MetricValue && !row) return QStringLiteral("Not measured under this spec yet");
        return QStringLiteral("%1\n%2 %3")
            .arg(outline_.names[std::size_t(at)], QString::fromLatin1(info(tensor.dtype).id),
                 QString::fromStdString(shapeTimes(tensor.shape)));
    }
    case Sort:
        return column == Name || column == Flags ? QVariant(data(index, Qt::DisplayRole))
                                                 : QVariant(sortKey(at, column));
    case Bar: {
        const double value = values_[std::size_t(at)];
        return column == MetricValue && largest_ > 0 && std::isfinite(value) ? QVariant(std::abs(value) / largest_)
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
        if (role == Qt::DisplayRole) return QString::fromStdString(headerText(columnOf(*metric_)));
        if (role == Qt::ToolTipRole)
            return QString::fromUtf8(metric_->formula) +
                   (metric_->proxy ? QStringLiteral("\nA proxy: error of the weights, not accuracy of the model")
                                   : QString());
    }
    static const char* titles[] = {"Tensor", "bpw ↓", "", "bytes", "flags"};
    static const char* tips[] = {"Name, by layer", "True stored bits per weight", "", "Bytes in the file",
                                 "NaN, outlier channels, refusals"};
    if (role == Qt::DisplayRole) return QString::fromUtf8(titles[section]);
    if (role == Qt::ToolTipRole) return QString::fromUtf8(tips[section]);
    return {};
}

double TensorTree::sortKey(int tensor, int column) const {
    const auto at = std::size_t(tensor);
    switch (column) {
    case Name: return double(tensor); // the model's own order: numbers in names as numbers
    case Bytes: return double(model_->tensors[at].bytes);
    case Bpw: return rows_[at] && rows_[at]->status == Status::Ok ? rows_[at]->bpw : kNone;
    case MetricValue: return values_[at];
    case Flags: return double(flagsOf(tensor, false).size());
    default: return kNone;
    }
}

TensorOrder::TensorOrder(TensorTree& tree, QObject* parent) : QSortFilterProxyModel(parent), tree_(tree) {
    setSourceModel(&tree);
    setRecursiveFilteringEnabled(true);
    setDynamicSortFilter(false);
}

bool TensorOrder::lessThan(const QModelIndex& left, const QModelIndex& right) const {
    const int a = tree_.tensorAt(left), b = tree_.tensorAt(right);
    if (a < 0 || b < 0 || left.column() == TensorTree::Name) return left.row() < right.row();
    const double x = tree_.sortKey(a, left.column()), y = tree_.sortKey(b, right.column());
    if (std::isnan(x) || std::isnan(y)) {
        // Not measured comes last in either order.
        if (std::isnan(x) && std::isnan(y)) return a < b;
        return sortOrder() == Qt::AscendingOrder ? std::isnan(y) : std::isnan(x);
    }
    return x != y ? x < y : a < b;
}

bool TensorOrder::filterAcceptsRow(int row, const QModelIndex& parent) const {
    const auto& filter = filterRegularExpression();
    if (filter.pattern().isEmpty()) return true;
    const int at = tree_.tensorAt(tree_.index(row, 0, parent));
    return at >= 0 && filter.match(tree_.nameOf(at)).hasMatch();
}

} // namespace qs::gui
