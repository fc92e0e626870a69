// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The regular expressions of known tokenizers, cut by hand. They are of one kind: contractions, words, numbers, signs, line
// ends and spaces in this order; a row says how each looks. Every text is cut without a gap.

#include <cstdint>
#include <span>
#include <string_view>

namespace qs::eval {

struct Splitter {
    const char* id;
    const char* expression; ///< as in tokenizer.json
    enum class Words : std::uint8_t {
        AfterSpace, ///< " ?\p{L}+"
        AfterSign,  ///< "[^\r\n\p{L}\p{N}]?\p{L}+"
        WithMarks,  ///< the same with [\p{L}\p{M}]+
        ByCase,     ///< the same, and a capital begins a new word behind small letters
    };
    enum class Contractions : std::uint8_t {
        None,
        Small,
        AnyCase,
        BehindWords
    } contractions; ///< 's 't 're 've 'm 'll 'd
    Words words;
    std::uint8_t mostDigits; ///< of a number; 0: any. Numbers after a space only where words are, too
    const char* signsTail;   ///< characters that may follow signs: "\r\n"
    bool cutsLines;          ///< "\s*[\r\n]+"

    /// Where the piece ends that begins at `at`. `text` is valid UTF-8.
    std::size_t endOf(std::string_view text, std::size_t at) const;
};

std::span<const Splitter> splitters();
/// Null: there is none of this id, or for this expression.
const Splitter* findSplitter(std::string_view id);
const Splitter* findSplitterFor(std::string_view expression);

} // namespace qs::eval
