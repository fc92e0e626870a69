// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes the JSON object that describe() returns.

#include <cstdio>
#include <string>
#include <string_view>

namespace qs::plugin {

class JsonText {
public:
    JsonText& text(std::string_view key, std::string_view value) { return add(key, quoted(value)); }
    JsonText& number(std::string_view key, double value) {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.6g", value);
        return add(key, buffer);
    }
    JsonText& yes(std::string_view key, bool value) { return add(key, value ? "true" : "false"); }
    std::string str() const { return '{' + body_ + '}'; }

private:
    JsonText& add(std::string_view key, std::string_view value) {
        if (!body_.empty()) body_ += ',';
        body_ += quoted(key);
        body_ += ':';
        body_ += value;
        return *this;
    }
    static std::string quoted(std::string_view text) {
        std::string out = "\"";
        for (const char c : text) {
            if (static_cast<unsigned char>(c) < 0x20) {
                char escape[8];
                std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(c));
                out += escape;
                continue;
            }
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        return out + '"';
    }
    std::string body_;
};

} // namespace qs::plugin
