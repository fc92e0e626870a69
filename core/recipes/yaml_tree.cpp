// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/yaml_tree.h"

#include "core/base/lists.h"
#include "core/base/strict_json.h"
#include "core/base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml.h>

namespace qs {
namespace {

using Tree = nlohmann::ordered_json;

constexpr std::size_t kDeepestYaml = 32, kMostNodes = 200000;

/// Frees what libyaml made.
struct Parser {
    yaml_parser_t raw{};
    bool good = yaml_parser_initialize(&raw) == 1;
    ~Parser() {
        if (good) yaml_parser_delete(&raw);
    }
    Parser() = default;
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;
};
struct Event {
    yaml_event_t raw{};
    ~Event() { yaml_event_delete(&raw); }
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};

/// A scalar without quotes.
Tree plainScalar(std::string_view text) {
    if (isOneOf(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
    if (isOneOf(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
    if (isOneOf(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return false;
    const std::string_view digits = text.substr(text.front() == '-' || text.front() == '+' ? 1 : 0);
    if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != digits.npos ||
        digits.find_first_of("0123456789") == digits.npos)
        return std::string(text);
    const std::string_view number = text.front() == '+' ? digits : text;
    const char* end = number.data() + number.size();
    std::int64_t whole = 0;
    if (const auto [at, error] = std::from_chars(number.data(), end, whole); error == std::errc() && at == end)
        return whole;
    double value = 0;
    const auto [at, error] = std::from_chars(number.data(), end, value);
    const bool hasPoint = number.find('.') != number.npos; // 1e3 without a point is a text in YAML 1.1
    if (error == std::errc() && at == end && hasPoint && std::isfinite(value)) return value;
    return std::string(text);
}

class Building {
public:
    /// "" or why the text is refused.
    std::string take(const yaml_event_t& event) {
        switch (event.type) {
        case YAML_ALIAS_EVENT: return "has an alias (*NAME), which is not read";
        case YAML_DOCUMENT_START_EVENT: return documents_++ ? "has a second document" : "";
        case YAML_SCALAR_EVENT: return scalar(event);
        case YAML_SEQUENCE_START_EVENT: return begin(Tree::array(), event.data.sequence_start.tag);
        case YAML_MAPPING_START_EVENT: return begin(Tree::object(), event.data.mapping_start.tag);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT: return end();
        default: return {};
        }
    }
    Tree take() { return std::move(root_); }

private:
    struct Frame {
        Tree value;
        std::string key = {};
        bool hasKey = false;
    };
    std::string begin(Tree empty, const yaml_char_t* tag) {
        if (tag) return "has a tag (!NAME), which is not read";
        if (frames_.size() >= kDeepestYaml) return "is nested too deeply";
        if (!frames_.empty() && frames_.back().value.is_object() && !frames_.back().hasKey)
            return "has a key that is no scalar";
        frames_.push_back({std::move(empty)});
        return count();
    }
    std::string end() {
        Tree value = std::move(frames_.back().value);
        frames_.pop_back();
        return put(std::move(value));
    }
    std::string scalar(const yaml_event_t& event) {
        const auto& one = event.data.scalar;
        if (one.tag) return "has a tag (!NAME), which is not read";
        const std::string_view text(reinterpret_cast<const char*>(one.value), one.length);
        if (auto many = count(); !many.empty()) return many;
        if (!frames_.empty() && frames_.back().value.is_object() && !frames_.back().hasKey) {
            Frame& frame = frames_.back();
            frame.key = text, frame.hasKey = true;
            if (frame.value.size() > kMostKeys) return fmt::format("has more than {} keys in one place", kMostKeys);
            return frame.value.contains(frame.key) ? fmt::format("has the key '{}' twice", escapeForPeople(text, 60))
                                                   : std::string();
        }
        return put(one.style == YAML_PLAIN_SCALAR_STYLE ? plainScalar(text) : Tree(std::string(text)));
    }
    std::string put(Tree value) {
        if (frames_.empty()) {
            root_ = std::move(value);
        } else if (Frame& frame = frames_.back(); frame.value.is_array()) {
            frame.value.push_back(std::move(value));
        } else {
            frame.value[std::move(frame.key)] = std::move(value);
            frame.hasKey = false;
        }
        return {};
    }
    std::string count() { return ++nodes_ > kMostNodes ? "has too many entries" : std::string(); }

    static constexpr std::size_t kMostKeys = 2000; ///< an ordered object finds keys one by one
    std::vector<Frame> frames_;
    Tree root_;
    std::size_t nodes_ = 0;
    int documents_ = 0;
};

} // namespace

Result<Tree> readYamlTree(std::string_view text) {
    if (text.size() > kMostYaml) return fail(fmt::format("is longer than {} bytes of YAML", kMostYaml));
    if (text.find('\0') != text.npos) return fail("has a NUL byte");
    if (invalidUtf8(text) != text.npos) return fail("is not UTF-8");
    Parser parser;
    if (!parser.good) return fail("cannot be read: there is not enough memory");
    yaml_parser_set_encoding(&parser.raw, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser.raw, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    Building building;
    for (bool more = true; more;) {
        Event event;
        if (!yaml_parser_parse(&parser.raw, &event.raw))
            return fail(fmt::format("is not YAML: {} in line {}", parser.raw.problem ? parser.raw.problem : "a fault",
                                    parser.raw.problem_mark.line + 1));
        more = event.raw.type != YAML_STREAM_END_EVENT;
        if (auto why = building.take(event.raw); !why.empty())
            return fail(fmt::format("{}, in line {}", why, event.raw.start_mark.line + 1));
    }
    return building.take();
}

} // namespace qs
