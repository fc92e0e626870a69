// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The regular expressions of known tokenizers, written by hand. They all have the same parts in this order:
// contractions, words, numbers, signs, line ends and spaces. A row says what each part looks like. The pieces cover the
// whole text.

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
        WithMarks,  ///< like AfterSign, but with [\p{L}\p{M}]+
        ByCase,     ///< like WithMarks, but a capital letter after small letters begins a new word
    };
    enum class Contractions : std::uint8_t {
        None,
        Small,
        AnyCase,
        BehindWords
    } contractions; ///< 's 't 're 've 'm 'll 'd
    Words words;
    std::uint8_t mostDigits; ///< most digits of a number; 0: any. A number takes a space before it if words do
    const char* signsTail;   ///< characters that may follow signs: "\r\n"
    bool cutsLines;          ///< "\s*[\r\n]+"

    /// The end of the piece that begins at `at`. `text` must be valid UTF-8.
    std::size_t endOf(std::string_view text, std::size_t at) const;
};

std::span<const Splitter> splitters();
/// Both return null if there is no such splitter: with this id, or for this expression.
const Splitter* findSplitter(std::string_view id);
const Splitter* findSplitterFor(std::string_view expression);

} // namespace qs::eval
