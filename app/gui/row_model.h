// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One table model for every vector of rows that has Columns<Row>.

#include "app/gui/theme.h"
#include "app/gui/widgets/name_text.h"
#include "core/base/column.h"

#include <QAbstractTableModel>
#include <QThreadPool>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace qs::gui {

template<class Row> class RowModel : public QAbstractTableModel {
public:
    explicit RowModel(Columns<Row> columns, QObject* parent = nullptr)
        : QAbstractTableModel(parent), columns_(std::move(columns)) {}

    void setRows(std::vector<Row> rows) {
        beginResetModel();
        rows_.swap(rows);
        endResetModel();
        if (rows.size() > 4096) // freeing the texts of more rows takes longer than a frame
            if (auto* pool = QThreadPool::globalInstance())
                pool->start([old = std::move(rows)]() mutable { old = {}; });
    }
    /// `all` begins with the present rows. Selection, order and scroll position are kept.
    void grow(const std::vector<Row>& all) {
        if (all.size() <= rows_.size()) return;
        beginInsertRows({}, int(rows_.size()), int(all.size()) - 1);
        rows_.insert(rows_.end(), all.begin() + std::ptrdiff_t(rows_.size()), all.end());
        endInsertRows();
    }
    int columnOf(std::string_view id) const { return int(columns_.indexOf(id)); } ///< `id` must be there
    /// Whether no row has a value in this column.
    bool isEmpty(int column) const {
        const auto& shown = columns_[std::size_t(column)];
        return std::all_of(rows_.begin(), rows_.end(),
                           [&](const Row& row) { return std::holds_alternative<std::monostate>(shown.value(row)); });
    }
    const Row& row(int index) const { return rows_.at(std::size_t(index)); }
    const std::vector<Row>& rows() const { return rows_; }

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(rows_.size()); }
    int columnCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : int(columns_.size());
    }

    /// Qt::UserRole gives the raw value, so that a proxy model sorts numbers as numbers.
    QVariant data(const QModelIndex& index, int role) const override {
        if (!index.isValid()) return {};
        const auto& column = columns_[std::size_t(index.column())];
        const Value value = column.value(rows_[std::size_t(index.row())]);
        switch (role) {
        case Qt::DisplayRole: return QString::fromStdString(cellText(column, value));
        case Qt::UserRole:
            if (auto* d = std::get_if<double>(&value)) return *d;
            if (auto* i = std::get_if<std::int64_t>(&value)) return qlonglong(*i);
            if (auto* b = std::get_if<bool>(&value)) return *b;
            if (auto* s = std::get_if<std::string>(&value)) return QString::fromStdString(*s);
            return {};
        case Qt::TextAlignmentRole: return int(Qt::AlignVCenter | (isNumeric(column) ? Qt::AlignRight : Qt::AlignLeft));
        case kNameRole: return column.show == Show::Name;
        case Qt::FontRole: return isNumeric(column) || column.show == Show::Code ? Theme::numbers() : Theme::words();
        case Qt::ToolTipRole: // the column may be too narrow for the text
            if (auto* s = std::get_if<std::string>(&value); s && s->size() > 12) return QString::fromStdString(*s);
            return {};
        case Qt::ForegroundRole:
            if (isNotMeasured(column, value)) return Theme::instance().tokens().warn;
            return {};
        default: return {};
        }
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
        if (orientation != Qt::Horizontal || section < 0 || section >= int(columns_.size())) return {};
        const auto& column = columns_[std::size_t(section)];
        if (role == Qt::DisplayRole) return QString::fromStdString(headerText(column));
        if (role == Qt::ToolTipRole) return QString::fromStdString(column.tip);
        if (role == Qt::TextAlignmentRole)
            return int(Qt::AlignVCenter | (isNumeric(column) ? Qt::AlignRight : Qt::AlignLeft));
        return {};
    }

private:
    Columns<Row> columns_;
    std::vector<Row> rows_;
};

} // namespace qs::gui
