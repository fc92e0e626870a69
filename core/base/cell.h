// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Cells and columns from the members of a row.

#include "core/base/column.h"

#include <cmath>
#include <optional>
#include <type_traits>

namespace qs {

/// A value as a cell. What is not there is "not measured".
template<class T> Value cellOf(const T& value) {
    if constexpr (std::is_same_v<T, Value> || std::is_same_v<T, bool>)
        return value;
    else if constexpr (requires { value.has_value(); })
        return value ? cellOf(*value) : Value();
    else if constexpr (std::is_integral_v<T>)
        return std::int64_t(value);
    else if constexpr (std::is_floating_point_v<T>)
        return double(value);
    else
        return std::string(value);
}

/// The same; NaN and infinity are "not measured" too.
inline Value finiteCellOf(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Value(*value) : Value();
}

/// A column of the member, or of what the function makes of a row.
template<class Row, class Get> Column<Row> columnOf(ColumnInfo info, Get get) {
    return {std::move(info), [get](const Row& row) { return cellOf(std::invoke(get, row)); }};
}

} // namespace qs
