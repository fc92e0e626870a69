// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads characters of UTF-8 and finds their properties in our own tables (make_unicode_tables.py). These have the
// general categories of Unicode 16 and the classes that the tokenizers package uses.

#include <cstdint>
#include <string>
#include <string_view>

namespace qs::eval {

// clang-format off
enum class Category : std::uint8_t {
    Cn, Cc, Cf, Co, Cs, Ll, Lm, Lo, Lt, Lu, Mc, Me, Mn, Nd, Nl, No, Pc, Pd, Pe, Pf, Pi, Po, Ps, Sc, Sk, Sm, So, Zl, Zp, Zs
}; // clang-format on

/// A set of general categories, for inSet().
template<class... C> constexpr std::uint32_t setOf(C... categories) {
    return (0u | ... | (1u << unsigned(categories)));
}
inline constexpr std::uint32_t kLetters = setOf(Category::Ll, Category::Lm, Category::Lo, Category::Lt, Category::Lu);
inline constexpr std::uint32_t kMarks = setOf(Category::Mc, Category::Me, Category::Mn);
inline constexpr std::uint32_t kNumbers = setOf(Category::Nd, Category::Nl, Category::No);

/// Classes beside the category, as bits of flagsOf().
enum CharacterClass : std::uint16_t {
    kSpace = 1 << 5,       ///< \s
    kWord = 1 << 6,        ///< \w as the tokenizers package takes it in Whitespace and for whole words
    kNumeric = 1 << 7,     ///< a number of the pre-tokenizer Digits
    kPunctuation = 1 << 8, ///< of the pre-tokenizers Punctuation and BertPreTokenizer
    kControl = 1 << 9,     ///< what BertNormalizer's clean_text removes
    kBertAccent = 1 << 10, ///< what its strip_accents removes, in decomposed text
    kAccent = 1 << 11,     ///< what the normalizer StripAccents removes
};

/// Bits 0 to 4: the category; above: CharacterClass. 0 from U+110000 on.
std::uint16_t flagsOf(char32_t character);
inline bool is(std::uint16_t flags, CharacterClass what) { return (flags & what) != 0; }
inline bool inSet(std::uint16_t flags, std::uint32_t categories) { return (categories >> (flags & 31) & 1) != 0; }

/// The lower case of one character; its neighbours do not matter. U+0130 becomes two characters; the second is U+0307.
char32_t lowerOf(char32_t character);

struct Character {
    char32_t value = 0;
    std::uint32_t bytes = 0; ///< length of its UTF-8; 0: the text ends here
};
/// The character that begins at a byte of valid UTF-8. It never reads behind the end.
inline Character characterAt(std::string_view text, std::size_t at) {
    if (at >= text.size()) return {};
    const auto byte = [&](std::size_t i) { return char32_t(static_cast<unsigned char>(text[at + i])); };
    const char32_t first = byte(0);
    const std::uint32_t bytes = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (bytes == 1 || at + bytes > text.size()) return {first, 1};
    char32_t value = first & (0xFFu >> (bytes + 1));
    for (std::uint32_t i = 1; i < bytes; ++i) value = value << 6 | (byte(i) & 0x3F);
    return {value, bytes};
}
void appendUtf8(char32_t character, std::string& into);

} // namespace qs::eval
