// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

namespace qs {

/// The row of a registry that has this id; null: none has.
template<class Rows> auto rowOf(const Rows& rows, std::string_view id) -> decltype(&*std::begin(rows)) {
    for (const auto& row : rows)
        if (id == row.id) return &row;
    return nullptr;
}

} // namespace qs
