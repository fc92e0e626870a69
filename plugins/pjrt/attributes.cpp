// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/api.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace qs::pjrt {
namespace {

/// Length in bytes of the UTF-8 sequence that begins at `at`; 0 if the bytes are not UTF-8.
std::size_t sequence(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? unsigned(static_cast<unsigned char>(text[i])) : 0u;
    };
    const auto first = byte(at);
    const std::size_t length = first < 0x80                    ? 1
                               : first >= 0xc2 && first < 0xe0 ? 2
                               : first >= 0xe0 && first < 0xf0 ? 3
                               : first >= 0xf0 && first < 0xf5 ? 4
                                                               : 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(at + i) & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && byte(at + 1) < 0xa0) || (first == 0xed && byte(at + 1) > 0x9f) ||
        (first == 0xf0 && byte(at + 1) < 0x90) || (first == 0xf4 && byte(at + 1) > 0x8f))
        return 0;
    return length;
}

} // namespace

std::string jsonText(const std::string& text) {
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size();) {
        const auto length = sequence(text, i);
        const auto c = static_cast<unsigned char>(text[i]);
        if (length == 0) {
            out += "\\ufffd";
            ++i;
            continue;
        }
        if (c == '"' || c == '\\') {
            out += '\\';
            out += char(c);
        } else if (c < 0x20 || c == 0x7f) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            out += escape;
        } else {
            out.append(text, i, length);
        }
        i += length;
    }
    return out + '"';
}

std::vector<Attribute> attributes(const NamedValue* values, std::size_t count) {
    constexpr std::size_t kMost = 4096; // a limit, because counts from a plugin are not trusted
    std::vector<Attribute> result;
    if (values == nullptr) return result;
    for (std::size_t i = 0; i < count && i < kMost; ++i) {
        const auto& value = values[i];
        if (value.name == nullptr || value.nameSize > kMost) continue;
        std::string json = "null";
        switch (value.type) {
        case NamedValue::String:
            if (value.text != nullptr && value.count <= 16 * kMost) json = jsonText({value.text, value.count});
            break;
        case NamedValue::Integer: json = std::to_string(value.integer); break;
        case NamedValue::Integers:
            if (value.integers == nullptr || value.count > kMost) break;
            json = "[";
            for (std::size_t j = 0; j < value.count; ++j) json += (j ? "," : "") + std::to_string(value.integers[j]);
            json += "]";
            break;
        case NamedValue::Float:
            if (std::isfinite(value.real)) {
                char digits[32];
                json.assign(digits, std::to_chars(digits, digits + sizeof digits, value.real).ptr);
            }
            break;
        case NamedValue::Bool: json = value.truth ? "true" : "false"; break;
        default: break;
        }
        result.push_back({std::string(value.name, value.nameSize), json});
    }
    return result;
}

} // namespace qs::pjrt
