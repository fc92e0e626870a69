// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/fields.h"

#include "core/base/json_tree.h"
#include "core/base/strict_json.h"

#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace qs {

using nlohmann::json;

tl::expected<json, std::string> strictObject(const std::string& text) {
    constexpr std::size_t kDeepest = 8;
    if (invalidUtf8(text) != std::string::npos) return tl::unexpected(std::string("text that is not valid UTF-8"));
    std::string problem;
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) keys.emplace_back();
        if (event == json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
        if (event == json::parse_event_t::key && !keys.empty() && !keys.back().insert(parsed.get<std::string>()).second)
            problem = "JSON with a key twice";
        return true;
    };
    if (isDeeperThan(text, kDeepest)) return tl::unexpected(fmt::format("JSON nested more than {} deep", kDeepest));
    auto object = json::parse(text, watch, false);
    if (object.is_discarded() || !object.is_object()) return tl::unexpected(std::string("text that is no JSON object"));
    if (!problem.empty()) return tl::unexpected(problem);
    return object;
}

namespace {
const json kNull, kNoArray = json::array(), kNoObject = json::object();
}

bool Fields::has(const char* key) const { return object_.contains(key); }

void Fields::refuse(const std::string& why) {
    if (!problem_) problem_ = why;
}

void Fields::take(const Fields& nested) {
    if (nested.problem_) refuse(*nested.problem_);
}

const json& Fields::field(const char* key) {
    const auto at = object_.find(key);
    if (at != object_.end()) return *at;
    refuse(fmt::format("no field '{}'", key));
    return kNull;
}

std::string Fields::text(const char* key, std::size_t longest) {
    const json& value = field(key);
    if (value.is_string() && value.get_ref<const std::string&>().size() <= longest) return value.get<std::string>();
    refuse(fmt::format("'{}' is not a text of at most {} bytes", key, longest));
    return {};
}

std::uint64_t Fields::count(const char* key, std::uint64_t most) {
    const json& value = field(key);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) return value.get<std::uint64_t>();
    refuse(fmt::format("'{}' is not a count up to {}", key, most));
    return 0;
}

std::int64_t Fields::integer(const char* key, std::int64_t least, std::int64_t most) {
    const json& value = field(key);
    const bool fits = !value.is_number_unsigned() ||
                      value.get<std::uint64_t>() <= std::uint64_t(std::numeric_limits<std::int64_t>::max());
    if (value.is_number_integer() && fits) {
        const auto number = value.get<std::int64_t>();
        if (number >= least && number <= most) return number;
    }
    refuse(fmt::format("'{}' is not an integer from {} to {}", key, least, most));
    return least;
}

double Fields::number(const char* key) {
    const json& value = field(key);
    if (value.is_number()) return value.get<double>();
    if (!value.is_null()) refuse(fmt::format("'{}' is not a number", key));
    return std::nan("");
}

bool Fields::flag(const char* key) {
    const json& value = field(key);
    if (value.is_boolean()) return value.get<bool>();
    refuse(fmt::format("'{}' is not true or false", key));
    return false;
}

const json& Fields::array(const char* key, std::size_t most) {
    const json& value = field(key);
    if (value.is_array() && value.size() <= most) return value;
    refuse(fmt::format("'{}' is not a list of at most {}", key, most));
    return kNoArray;
}

const json& Fields::object(const char* key) {
    const json& value = field(key);
    if (value.is_object()) return value;
    refuse(fmt::format("'{}' is not an object", key));
    return kNoObject;
}

} // namespace qs
