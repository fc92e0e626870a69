// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The table by which SentencePiece normalizes: a double-array trie (Darts) from byte strings to places in a list of
// replacements, each ended by a NUL.

#include "core/base/result.h"
#include "core/eval/tokenizer/tracked_text.h"

namespace qs::eval {

class Charsmap {
public:
    /// `blob`: u32 bytes of the trie | trie | replacements. Errors are the end of a sentence.
    static Result<Charsmap> read(std::string_view blob);
    static Result<Charsmap> fromBase64(const std::string& text);

    struct Match {
        std::size_t bytes = 0; ///< length of the match in the text; 0: nothing matches
        std::string_view instead;
    };
    /// The replacement for the start of a text. With `longest` it uses the longest match, else the shortest.
    Match match(std::string_view text, bool longest) const;

    /// Rewrites like SentencePiece: the longest match at each place.
    void byLongest(std::string_view text, Rewriter& into) const;
    /// Rewrites like the tokenizers package. A grapheme of fewer than six bytes is replaced by its shortest match; in
    /// other graphemes each character is replaced.
    void byGrapheme(std::string_view text, Rewriter& into) const;

private:
    std::vector<std::uint32_t> trie_;
    std::string replacements_;
};

} // namespace qs::eval
