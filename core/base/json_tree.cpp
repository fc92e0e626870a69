// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/json_tree.h"

#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace qs {

bool isDeeperThan(std::string_view json, std::size_t most) {
    std::size_t depth = 0;
    bool inText = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (inText && c == '\\')
            ++i;
        else if (c == '"')
            inText = !inText;
        else if (!inText && (c == '{' || c == '[') && ++depth > most)
            return true;
        else if (!inText && (c == '}' || c == ']') && depth > 0)
            --depth;
    }
    return false;
}

Result<nlohmann::json> readJsonTree(std::string_view text, std::size_t most) {
    constexpr std::size_t kDeepest = 32;
    if (text.size() > most) return fail(fmt::format("is longer than {} bytes", most));
    if (text.starts_with("\xEF\xBB\xBF")) return fail("begins with a byte order mark");
    if (text.find('\0') != std::string_view::npos) return fail("has a NUL byte");
    if (invalidUtf8(text) != std::string_view::npos) return fail("is not UTF-8");
    std::string problem;
    std::vector<std::set<std::string>> keys;
    using Event = nlohmann::json::parse_event_t;
    const auto look = [&](int, Event event, nlohmann::json& value) {
        if (event == Event::object_start || event == Event::array_start) {
            keys.emplace_back();
        } else if (event == Event::object_end || event == Event::array_end) {
            keys.pop_back();
        } else if (event == Event::key && problem.empty() && !keys.back().insert(value.get<std::string>()).second) {
            problem = fmt::format("has the key {} twice", quotedName(value.get<std::string>()));
        }
        return true;
    };
    if (isDeeperThan(text, kDeepest)) return fail("is nested too deeply");
    auto tree = nlohmann::json::parse(text, look, false);
    if (!problem.empty()) return fail(std::move(problem));
    if (tree.is_discarded()) return fail("is not JSON");
    return tree;
}

Result<nlohmann::ordered_json> readOrderedJsonTree(std::string_view text) {
    if (const auto tree = readJsonTree(text); !tree) return tl::unexpected(tree.error());
    return nlohmann::ordered_json::parse(text, nullptr, false);
}

std::optional<std::uint64_t> countAt(const nlohmann::json& object, const char* key) {
    if (!object.is_object()) return {};
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? std::optional(found->get<std::uint64_t>())
                                                                : std::nullopt;
}

std::string textAt(const nlohmann::json& object, const char* key) {
    if (!object.is_object()) return {};
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flagAt(const nlohmann::json& object, const char* key, bool otherwise) {
    if (!object.is_object()) return otherwise;
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

const nlohmann::json& valueAt(const nlohmann::json& object, const char* key) {
    static const nlohmann::json kNull;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? kNull : *found;
}

} // namespace qs
