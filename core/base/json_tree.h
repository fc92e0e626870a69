// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Small JSON texts from files that may lie, as a tree. What a tree would hide is refused: a key twice in one object, a
// byte order mark, NUL bytes, nesting deeper than 32.

#include "core/base/result.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace qs {

inline constexpr std::size_t kMostJson = std::size_t(4) << 20;

/// Whether brackets open deeper than that outside of texts. Asked before a parser builds anything.
bool isDeeperThan(std::string_view json, std::size_t most);
/// The sentence is the end of one: "has the key 'a' twice".
Result<nlohmann::json> readJsonTree(std::string_view text, std::size_t most = kMostJson);
/// The same with the keys of objects in their order, for files that are written again.
Result<nlohmann::ordered_json> readOrderedJsonTree(std::string_view text);

/// A whole number of at least 0 under a key, or nothing.
std::optional<std::uint64_t> countAt(const nlohmann::json& object, const char* key);
/// Text under a key, "" where there is none.
std::string textAt(const nlohmann::json& object, const char* key);
/// True or false under a key, `otherwise` where there is neither.
bool flagAt(const nlohmann::json& object, const char* key, bool otherwise);

} // namespace qs
