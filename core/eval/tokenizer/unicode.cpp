// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/unicode.h"

#include <algorithm>
#include <vector>

namespace qs::eval {
namespace {

#include "core/eval/tokenizer/unicode_tables.inc"

constexpr char32_t kCodePoints = 0x110000;

std::vector<std::uint16_t> flagTable() {
    std::vector<std::uint16_t> out;
    out.reserve(kCodePoints);
    for (const auto& [length, flags] : kRuns) out.insert(out.end(), length, std::uint16_t(flags));
    return out;
}

} // namespace

std::uint16_t flagsOf(char32_t character) {
    static const std::vector<std::uint16_t> table = flagTable();
    return character < kCodePoints ? table[character] : std::uint16_t(0);
}

char32_t lowerOf(char32_t character) {
    if (character < 0x80) return character >= 'A' && character <= 'Z' ? character + 32 : character;
    if (character == 0x130) return 'i';
    const auto point = std::int32_t(character);
    const auto* row = std::partition_point(std::begin(kLower), std::end(kLower),
                                           [&](const std::int32_t(&run)[4]) { return run[1] < point; });
    if (row == std::end(kLower) || point < (*row)[0] || (point - (*row)[0]) % (*row)[2] != 0) return character;
    return char32_t(point + (*row)[3]);
}

void appendUtf8(char32_t c, std::string& into) {
    if (c < 0x80) {
        into += char(c);
    } else if (c < 0x800) {
        into += {char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
        into += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 0x3F)), char(0x80 | (c & 0x3F))};
    } else {
        into += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 0x3F)), char(0x80 | (c >> 6 & 0x3F)),
                 char(0x80 | (c & 0x3F))};
    }
}

} // namespace qs::eval
