// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Small JSON texts from untrusted files, as a tree. Texts that a tree would represent wrongly are refused: a key twice
// in one object, a byte order mark, NUL bytes, invalid UTF-8, nesting deeper than 32.

#include "core/base/result.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace qs {

/// Default limit of the text, in bytes.
inline constexpr std::size_t kMostJson = std::size_t(4) << 20;

/// Whether brackets outside of strings nest deeper than `most`. Checked before a parser builds anything.
bool isDeeperThan(std::string_view json, std::size_t most);
/// Parses a text of at most `most` bytes. The error message is the end of a sentence, e.g. "is not JSON".
Result<nlohmann::json> readJsonTree(std::string_view text, std::size_t most = kMostJson);
/// The same, but keys of objects keep their order, for files that are written again.
Result<nlohmann::ordered_json> readOrderedJsonTree(std::string_view text);

/// The whole number >= 0 under a key; nullopt if there is none.
std::optional<std::uint64_t> countAt(const nlohmann::json& object, const char* key);
/// The string under a key; "" if there is none.
std::string textAt(const nlohmann::json& object, const char* key);
/// The boolean under a key; `otherwise` if there is none.
bool flagAt(const nlohmann::json& object, const char* key, bool otherwise);

/// The value under a key; null where `object` is no object or does not have the key.
const nlohmann::json& valueAt(const nlohmann::json& object, const char* key);

} // namespace qs
