// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A result is a vector of plain rows and one list of columns. The tables of the window, the terminal, CSV, JSON and
// HTML all use that list.

#include "core/base/lists.h"

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

/// A cell. monostate means "not measured"; it is never shown as 0.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// Which values are better; shown as an arrow in the header.
enum class Direction { None, LowerIsBetter, HigherIsBetter };
/// How a cell is shown.
enum class Show {
    Text,
    Integer,
    Bytes,
    Fixed,
    Significant,
    Percent,
    Shape,
    Scientific, ///< "3.81e-03", for values over many magnitudes; the same form in all rows
    Name,       ///< a tensor name; shortened by nameWithin() if it does not fit
    Code,       ///< a hash or similar text, in a monospaced font
    Time,       ///< value in ns, shown in µs
    Times       ///< a list of times in ns, "[1200,1300]", shown in µs
};

struct ColumnInfo {
    std::string id;    ///< JSON key and CSV header
    std::string title; ///< table header, without the arrow
    std::string unit;  ///< "" if there is none
    Show show = Show::Text;
    int decimals = 2; ///< Fixed, Percent: decimals; Significant, Scientific, Time: digits
    Direction better = Direction::None;
    std::string tip;        ///< one sentence, with the formula if there is one
    bool isMeasured = true; ///< a number that is missing was not measured; false: there is none, which is shown as "-"
};

/// A column of rows of type Row: `value` reads its cell from a row.
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
            if (!contains(ids, column.id)) out.push_back(column);
        return out;
    }
    /// The place of the column with this id, which must be there.
    std::size_t indexOf(std::string_view id) const {
        const auto at = std::find_if(this->begin(), this->end(), [&](const auto& one) { return one.id == id; });
        assert(at != this->end());
        return std::size_t(at - this->begin());
    }
};

/// A table without a row type. Report writers and the terminal print it.
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

/// Whether the cell is a figure that was not measured. An empty cell of words is none: the column does not apply to its row.
bool isNotMeasured(const ColumnInfo& column, const Value& value);
/// The cell as text for people: "4.5000", "3.41 MiB", "not measured", or "-" for words that do not apply.
std::string cellText(const ColumnInfo& column, const Value& value);
/// The header with unit and arrow: "SQNR dB ↑".
std::string headerText(const ColumnInfo& column);
/// Whether the cells are numbers, which are aligned to the right.
bool isNumeric(const ColumnInfo& column);

} // namespace qs
