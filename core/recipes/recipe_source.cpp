// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/recipe_source.h"

#include "core/base/json_tree.h"
#include "core/base/text.h"
#include "core/recipes/yaml_tree.h"

#include <fmt/format.h>

namespace qs {
namespace {

bool looksLikeJson(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && (text[first] == '{' || text[first] == '[');
}

} // namespace

const Json& RecipeSource::settings() const {
    for (const char* key : {"quantization_config", "compression_config", "quantization"})
        if (const Json& inner = entryOf(tree, key); inner.is_object()) return inner;
    return tree;
}

tl::unexpected<Error> RecipeSource::wrong(const std::string& why) const {
    return fail(fmt::format("{}: {}.", shownPath(path), why), path);
}

Result<RecipeSource> recipeSource(std::string text, const std::string& path) {
    RecipeSource source{path, std::move(text), {}, {}};
    if (source.text.size() > kMostRecipe) return source.wrong(fmt::format("it is longer than {} bytes", kMostRecipe));
    if (looksLikeJson(source.text)) {
        auto tree = readOrderedJsonTree(source.text);
        if (tree) {
            source.tree = std::move(*tree);
            return source;
        }
        if (nlohmann::json::accept(source.text)) return source.wrong("it " + tree.error().message);
    }
    auto tree = readYamlTree(source.text);
    if (tree && (tree->is_object() || tree->is_array())) source.tree = std::move(*tree);
    const bool saysYaml = path.ends_with(".yaml") || path.ends_with(".yml");
    if (!tree && (saysYaml || looksLikeJson(source.text)))
        source.problem = (saysYaml ? "it " : "it is not a JSON object or list, and it ") + tree.error().message;
    return source;
}

const Json& entryOf(const Json& object, std::string_view key) {
    static const Json kNull;
    if (!object.is_object()) return kNull;
    const auto found = object.find(std::string(key));
    return found == object.end() ? kNull : *found;
}

std::string textOf(const Json& object, std::string_view key) {
    const Json& value = entryOf(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

bool flagOf(const Json& object, std::string_view key, bool otherwise) {
    const Json& value = entryOf(object, key);
    return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::optional<std::int64_t> wholeOf(const Json& object, std::string_view key) {
    const Json& value = entryOf(object, key);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t(1) << 40) return {};
    return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::string shownValue(const Json& value) {
    return escapeForPeople(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

} // namespace qs
