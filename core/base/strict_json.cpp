// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/strict_json.h"

#include "core/base/text.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

// The parser holds a string twice, each with spare capacity.
constexpr std::size_t kMaxText = std::size_t(16) << 20;
constexpr std::uint64_t kBetweenPassed = std::uint64_t(1) << 20;

/// An iterator over the text that records its position, because events have none.
struct TrackedChar {
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at = nullptr;
    const char** seen = nullptr;

    reference operator*() const { return *at; }
    TrackedChar& operator++() {
        *seen = ++at;
        return *this;
    }
    TrackedChar operator++(int) {
        TrackedChar before = *this;
        ++*this;
        return before;
    }
    bool operator==(const TrackedChar& other) const { return at == other.at; }
};

class Events {
public:
    Events(JsonVisitor& visitor, const char** seen, std::uint64_t firstByte)
        : visitor_(visitor), begin_(*seen), seen_(seen), firstByte_(firstByte) {}

    bool null() { return visitor_.other("null"); }
    bool boolean(bool value) { return visitor_.other(value ? "true" : "false"); }
    bool number_integer(std::int64_t value) { return visitor_.number(double(value), "a negative number"); }
    bool number_unsigned(std::uint64_t value) { return visitor_.count(value); }
    bool number_float(double value, const std::string&) {
        return visitor_.number(value, "not a whole number of 64 bits");
    }
    bool string(std::string& text) { return visitor_.string(text); }
    bool binary(nlohmann::json::binary_t&) { return false; } // does not occur in JSON text
    bool key(std::string& text) {
        visitor_.position = firstByte_ + std::uint64_t(*seen_ - begin_);
        if (visitor_.passed && visitor_.position - passed_ >= kBetweenPassed) {
            passed_ = visitor_.position;
            visitor_.passed(passed_);
        }
        return visitor_.key(text);
    }
    bool start_object(std::size_t) { return deeper() && visitor_.beginObject(); }
    bool start_array(std::size_t) { return deeper() && visitor_.beginArray(); }
    bool end_object() { return --depth_, visitor_.endObject(); }
    bool end_array() { return --depth_, visitor_.endArray(); }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
        // The message has the form "[json.exception...] parse error at line 1, column 5: what is wrong; last read:
        // '...'".
        std::string why = error.what();
        if (const auto bracket = why.find("] "); bracket != std::string::npos) why.erase(0, bracket + 2);
        if (const auto colon = why.find(": "); why.starts_with("parse error") && colon != std::string::npos)
            why.erase(0, colon + 2);
        visitor_.problem = "the JSON is broken: " + escapeForPeople(why, 160);
        errorPosition = position;
        return false;
    }

    std::size_t errorPosition = 0;

private:
    bool deeper() {
        if (++depth_ <= visitor_.mostDeep) return true;
        visitor_.problem = fmt::format("the JSON is nested more than {} deep", visitor_.mostDeep);
        return false;
    }
    JsonVisitor& visitor_;
    const char* begin_;
    const char** seen_;
    std::uint64_t firstByte_, passed_ = 0;
    int depth_ = 0;
};

/// Is told how far a check has come. The memory before that position may be released.
using Behind = std::function<void(std::size_t)>;

/// Checks the text in pieces that end between characters. Returns the position that `check` refuses, or npos.
template<class Check> std::size_t firstIn(std::string_view text, const Behind& behind, const Check& check) {
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        end = std::min<std::size_t>(text.size(), begin + kBetweenPassed);
        for (int back = 0; back < 3 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;
             ++back)
            --end;
        if (const auto at = check(text.substr(begin, end - begin)); at != text.npos) return begin + at;
        behind(end);
    }
    return text.npos;
}

/// The position of the first string of more than kMaxText bytes, or npos.
std::size_t longText(std::string_view text, const Behind& behind) {
    std::size_t told = 0;
    for (auto open = text.find('"'); open != text.npos;) {
        if (open - told >= kBetweenPassed) behind(told = open);
        auto close = open;
        do { // a quote after an odd number of backslashes is part of the string
            close = text.find('"', close + 1);
            if (close == text.npos) return text.size() - open > kMaxText ? open : text.npos;
        } while ((close - 1 - text.find_last_not_of('\\', close - 1)) % 2 == 1);
        if (close - open > kMaxText) return open;
        open = text.find('"', close + 1);
    }
    return text.npos;
}

} // namespace

std::size_t invalidUtf8(std::string_view text) {
    const auto* s = reinterpret_cast<const unsigned char*>(text.data());
    const std::size_t n = text.size();
    std::size_t i = 0;
    while (i < n) {
        if (i + 8 <= n) {
            std::uint64_t word;
            std::memcpy(&word, s + i, 8);
            if ((word & 0x8080808080808080u) == 0) {
                i += 8;
                continue;
            }
        }
        const unsigned char a = s[i];
        if (a < 0x80) {
            ++i;
            continue;
        }
        const std::size_t length = (a >> 5) == 6 ? 2 : (a >> 4) == 14 ? 3 : (a >> 3) == 30 ? 4 : 0;
        if (length == 0 || n - i < length) return i;
        std::uint32_t c = a & (0x7fu >> length);
        for (std::size_t k = 1; k < length; ++k) {
            if ((s[i + k] >> 6) != 2) return i;
            c = (c << 6) | (s[i + k] & 0x3fu);
        }
        const std::uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
        if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return i;
        i += length;
    }
    return std::string_view::npos;
}

Result<void> readStrictJson(std::string_view text, const std::string& path, std::uint64_t firstByte,
                            JsonVisitor& visitor) {
    const auto refusal = [&](const std::string& why, std::uint64_t index) {
        const std::uint64_t byte = firstByte + index;
        return fail(fmt::format("{}: {} (at byte {}).", shownPath(path), why, byte), path,
                    static_cast<long long>(byte));
    };
    const Behind behind = [&](std::size_t at) {
        if (visitor.passed) visitor.passed(firstByte + at);
    };
    if (const auto bad = firstIn(text, behind, invalidUtf8); bad != std::string_view::npos)
        return refusal("the header is not valid UTF-8", bad);
    if (text.starts_with("\xef\xbb\xbf")) return refusal("the JSON begins with a byte order mark", 0);
    behind(0);
    const auto nulIn = [](std::string_view piece) { return piece.find('\0'); };
    if (const auto nul = firstIn(text, behind, nulIn); nul != std::string_view::npos)
        return refusal("the JSON holds a NUL byte", nul);
    behind(0);
    if (const auto open = longText(text, behind); open != text.npos)
        return refusal(fmt::format("the JSON has a text of more than {} MiB", kMaxText >> 20), open);
    behind(text.size());
    behind(0);

    const char* seen = text.data();
    Events events(visitor, &seen, firstByte);
    const bool good = nlohmann::json::sax_parse(TrackedChar{text.data(), &seen},
                                                TrackedChar{text.data() + text.size(), &seen}, &events);
    if (good) return {};
    // The parser reads one character past a token, so `seen` is one too large.
    const auto passed = std::uint64_t(seen - text.data());
    const std::uint64_t index = events.errorPosition ? events.errorPosition - 1 : passed ? passed - 1 : 0;
    return refusal(visitor.problem, std::min<std::uint64_t>(index, text.size()));
}

} // namespace qs
