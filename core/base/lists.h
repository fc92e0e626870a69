// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace qs {

template<class List, class Value> bool contains(const List& list, const Value& value) {
    return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

template<class Value> bool isOneOf(const Value& value, std::initializer_list<std::type_identity_t<Value>> list) {
    return contains(list, value);
}

/// Appends `value` to `list`, unless it is in the list already.
template<class List, class Value> void addOnce(List& list, Value&& value) {
    if (!contains(list, value)) list.push_back(std::forward<Value>(value));
}

/// The ids of a registry's rows, in their order.
template<class Rows> std::vector<std::string> idsOf(const Rows& rows) {
    std::vector<std::string> ids;
    for (const auto& row : rows) ids.emplace_back(row.id);
    return ids;
}

} // namespace qs
