// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What somebody meant who typed a word that is not in a list.

#include <optional>
#include <span>
#include <string_view>

namespace qs {

/// Index of the word that is most like the one typed, whatever its case, or nullopt when none is like it: the longest
/// that it begins with, else the first that it is a part of, else the one with the fewest edits, of equal ones the one
/// whose digits lie nearest (int9: int8).
std::optional<std::size_t> nearestWord(std::string_view typed, std::span<const std::string_view> words);

} // namespace qs
