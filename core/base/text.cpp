// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace qs {
namespace {

bool needsEscape(char32_t c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return true;                          // C0, DEL, C1
    if (c == 0x061c || c == 0x200e || c == 0x200f) return true;                    // direction marks
    if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)) return true; // bidi overrides, isolates
    if (c == 0x2028 || c == 0x2029 || c == 0xfeff) return true;                    // separators, BOM
    if (c >= 0xfff9 && c <= 0xfffb) return true;
    return (c & 0xfffe) == 0xfffe;
}

/// Decodes one code point and returns its length in bytes; 0 if it is invalid.
std::size_t decode(std::string_view s, char32_t& out) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char a = byte(0);
    std::size_t length = a < 0x80 ? 1 : (a >> 5) == 6 ? 2 : (a >> 4) == 14 ? 3 : (a >> 3) == 30 ? 4 : 0;
    if (length == 0 || s.size() < length) return 0;
    char32_t c = length == 1 ? a : a & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) >> 6) != 2) return 0;
        c = (c << 6) | (byte(i) & 0x3fu);
    }
    static constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 0;
    out = c;
    return length;
}

} // namespace

std::string escapeForPeople(std::string_view text, std::size_t maxChars) {
    maxChars = std::max<std::size_t>(1, maxChars); // room for the ellipsis
    const bool isPlain =
        text.size() <= maxChars && std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
    if (isPlain) return std::string(text); // true for almost every name
    // An untrusted name may have a megabyte, so only its two ends are read.
    const std::size_t window = 4 * maxChars + 4;
    std::vector<std::string> head;
    std::vector<std::string> tail;
    const auto walk = [](std::string_view part, std::vector<std::string>& into) {
        while (!part.empty()) {
            char32_t c = 0;
            const std::size_t length = decode(part, c);
            if (length == 0) {
                into.push_back(fmt::format("\\x{:02x}", static_cast<unsigned char>(part[0])));
                part.remove_prefix(1);
                continue;
            }
            into.push_back(needsEscape(c) ? fmt::format("\\u{{{:x}}}", unsigned(c))
                                          : std::string(part.substr(0, length)));
            part.remove_prefix(length);
        }
    };
    std::string out;
    if (text.size() <= 2 * window) {
        walk(text, head);
        if (head.size() <= maxChars) {
            for (const auto& piece : head) out += piece;
            return out;
        }
        tail = head;
    } else {
        walk(text.substr(0, window), head);
        std::size_t from = text.size() - window;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
        walk(text.substr(from), tail);
    }
    const std::size_t first = maxChars * 2 / 3, last = maxChars - first - 1;
    for (std::size_t i = 0; i < first && i < head.size(); ++i) out += head[i];
    out += "…";
    for (std::size_t i = tail.size() - std::min(last, tail.size()); i < tail.size(); ++i) out += tail[i];
    return out;
}

std::string shownPath(const std::string& path) { return escapeForPeople(path, 200); }

std::string shapeText(std::span<const std::int64_t> shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i) out += ", ";
        if (shape.size() > 8 && i == 6) return out + fmt::format("… {} more]", shape.size() - 6);
        out += std::to_string(shape[i]);
    }
    return out + "]";
}

std::string wholeShapeText(std::span<const std::int64_t> shape) {
    std::string out = "[";
    for (const auto dim : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(dim);
    return out + "]";
}

std::string shapeTimes(std::span<const std::int64_t> shape) {
    if (shape.empty()) return "scalar";
    std::string out;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i) out += " × ";
        if (shape.size() > 8 && i == 6) return out + "…";
        out += std::to_string(shape[i]);
    }
    return out;
}

std::string bytesText(std::uint64_t bytes) {
    if (bytes < 1024) return fmt::format("{} B", bytes);
    static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = double(bytes) / 1024;
    int unit = 0;
    while (value >= 1023.995 && unit < 5) value /= 1024, ++unit;
    return fmt::format("{:.2f} {}", value, units[unit]);
}

std::string fixedText(double value, int decimals) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
    return text;
}

std::string significantText(double value, int digits) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    if (value == 0) return "0";
    const double magnitude = std::fabs(value);
    if (magnitude < 1e-4 || magnitude >= 1e7) return scientificText(value, digits);
    // The number of digits before the point, after rounding: 9.9999 has two.
    const double rounded = std::stod(fmt::format("{:.{}e}", magnitude, std::max(0, digits - 1)));
    const int integerDigits = int(std::floor(std::log10(rounded))) + 1;
    return fmt::format("{:.{}f}", value, std::clamp(digits - integerDigits, 0, 9));
}

std::string scientificText(double value, int digits) {
    if (!std::isfinite(value) || value == 0) return significantText(value, digits);
    return fmt::format("{:.{}e}", value, std::max(0, digits - 2));
}

std::string durationText(double seconds) {
    if (!(seconds >= 0) || seconds > 1e9) return "unknown"; // more than 30 years is no measurement
    if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
    const auto whole = std::uint64_t(std::llround(seconds));
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string oneSentence(std::string_view message) {
    std::string out;
    for (const char c : message) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte == '\n' || byte == '\r' || byte == '\t')
            out += ' ';
        else if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    if (out.size() > 500) {
        std::size_t head = 330, tail = out.size() - 160;
        while (head > 0 && (static_cast<unsigned char>(out[head]) & 0xc0) == 0x80) --head;
        while (tail < out.size() && (static_cast<unsigned char>(out[tail]) & 0xc0) == 0x80) ++tail;
        out = out.substr(0, head) + "…" + out.substr(tail);
    }
    return out;
}

} // namespace qs
