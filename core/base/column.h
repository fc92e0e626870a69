// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A result is a vector of plain rows and ONE list of columns; the window's tables, the terminal, CSV, JSON and HTML all
// read that list.

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace qs {

/// monostate: not measured (never shown as 0).
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

enum class Direction { None, LowerIsBetter, HigherIsBetter };
enum class Show {
    Text,
    Integer,
    Bytes,
    Fixed,
    Significant,
    Percent,
    Shape,
    Scientific, ///< "3.81e-03": figures over many magnitudes, alike in all rows
    Name,       ///< of a tensor: cut by nameWithin() where it has no room
    Code,       ///< a hash or the like, in the type of figures
    Time,       ///< the value is in ns, people read µs
    Times       ///< a list of times: "[1200,1300]" in ns, people read µs
};

struct ColumnInfo {
    std::string id;    ///< JSON key and CSV header
    std::string title; ///< table header, without the arrow
    std::string unit;  ///< "" when none
    Show show = Show::Text;
    int decimals = 2; ///< Fixed and Percent: decimals; Significant, Scientific, Time: digits
    Direction better = Direction::None;
    std::string tip; ///< one sentence, with the formula where there is one
};

template<class Row> struct Column : ColumnInfo { std::function<Value(const Row&)> value; };

/// Columns are chosen by id, never by place.
template<class Row> struct Columns : std::vector<Column<Row>> {
    using Ids = std::initializer_list<std::string_view>;
    using std::vector<Column<Row>>::vector;

    /// Those with these ids, in the order of the ids. All must be there.
    Columns pick(Ids ids) const {
        Columns out;
        for (const auto id : ids)
            if (const auto at = indexOf(id); at < this->size()) out.push_back((*this)[at]);
        return out;
    }
    /// All but those with these ids, in the list's order.
    Columns without(Ids ids) const {
        Columns out;
        for (const auto& column : *this)
            if (std::find(ids.begin(), ids.end(), column.id) == ids.end()) out.push_back(column);
        return out;
    }
    /// The place of the column with this id, which must be there.
    std::size_t indexOf(std::string_view id) const {
        const auto at = std::find_if(this->begin(), this->end(), [&](const auto& one) { return one.id == id; });
        assert(at != this->end());
        return std::size_t(at - this->begin());
    }
};

/// A row-independent table: what report writers and the terminal print.
struct Table {
    std::string title;
    std::vector<ColumnInfo> columns;
    std::vector<std::vector<Value>> rows;
};

template<class Row> Table makeTable(std::string title, const Columns<Row>& columns, const std::vector<Row>& rows) {
    Table table{std::move(title), {}, {}};
    for (const auto& column : columns) table.columns.push_back(column);
    for (const auto& row : rows) {
        auto& cells = table.rows.emplace_back();
        for (const auto& column : columns) cells.push_back(column.value(row));
    }
    return table;
}

/// The cell as people read it: "not measured", "4.5000", "3.41 MiB".
std::string cellText(const ColumnInfo& column, const Value& value);
/// "SQNR dB ↑"
std::string headerText(const ColumnInfo& column);
bool isNumeric(const ColumnInfo& column);

} // namespace qs
