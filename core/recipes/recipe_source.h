// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The text of a recipe and, if it is JSON or YAML, its tree. Texts are not trusted, so their size, depth and number of
// entries are checked before the tree is built.

#include "core/base/result.h"

#include <nlohmann/json.hpp>

namespace qs {

inline constexpr std::size_t kMostRecipe = std::size_t(4) << 20; ///< bytes
inline constexpr std::size_t kMostRules = 50000;

using Json = nlohmann::ordered_json; ///< the order of entries decides which rule wins

struct RecipeSource {
    std::string path, text;
    Json tree;                ///< null if the text is neither JSON nor YAML with entries
    std::string problem = {}; ///< why there is no tree, if the text looks like JSON or YAML
    bool isObject() const { return tree.is_object(); }
    /// The object under "quantization_config" or "quantization" if there is one, as in config.json; else the root.
    const Json& settings() const;
    /// "PATH: WHY."
    tl::unexpected<Error> wrong(const std::string& why) const;
};
Result<RecipeSource> recipeSource(std::string text, const std::string& path);

/// The value of a key; null if `object` is not an object or does not have the key.
const Json& entryOf(const Json& object, std::string_view key);
std::string textOf(const Json& object, std::string_view key); ///< "" if there is no text
bool flagOf(const Json& object, std::string_view key, bool otherwise);
std::optional<std::int64_t> wholeOf(const Json& object, std::string_view key); ///< nullopt if it is not a whole number
/// A short form of a value for messages.
std::string shownValue(const Json& value);

} // namespace qs
