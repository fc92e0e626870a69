// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Suggests a word from a list for a word that is not in it.

#include <optional>
#include <span>
#include <string_view>

namespace qs {

/// The index of the word most similar to `typed`, or nullopt if none is similar. Case does not matter. The order of
/// preference: the longest word that `typed` begins with; the first word that contains `typed`; the word with the
/// fewest edits. If edits are equal, the word with the nearest digits wins (int9: int8).
std::optional<std::size_t> nearestWord(std::string_view typed, std::span<const std::string_view> words);

} // namespace qs
