// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A result is a vector of plain rows and one list of columns. The tables of the window, the terminal, CSV, JSON and
// HTML all use that list.

#include <cstdint>
#include <functional>
#include <string>
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
    std::string tip; ///< one sentence, with the formula if there is one
};

/// A column of rows of type Row: `value` reads its cell from a row.
template<class Row> struct Column : ColumnInfo { std::function<Value(const Row&)> value; };
template<class Row> using Columns = std::vector<Column<Row>>;

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

/// The cell as text for people: "not measured", "4.5000", "3.41 MiB".
std::string cellText(const ColumnInfo& column, const Value& value);
/// The header with unit and arrow: "SQNR dB ↑".
std::string headerText(const ColumnInfo& column);
/// Whether the cells are numbers, which are aligned to the right.
bool isNumeric(const ColumnInfo& column);

} // namespace qs
