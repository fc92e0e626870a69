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
        std::size_t bytes = 0; ///< of the text; 0: nothing matches
        std::string_view instead;
    };
    /// What stands for the start of a text. `longest`: of all matches the longest one, else the shortest.
    Match match(std::string_view text, bool longest) const;

    /// As SentencePiece does it: the longest match at each place.
    void byLongest(std::string_view text, Rewriter& into) const;
    /// As the tokenizers package does it: a grapheme of fewer than six bytes by its shortest match, else its characters.
    void byGrapheme(std::string_view text, Rewriter& into) const;

private:
    std::vector<std::uint32_t> trie_;
    std::string replacements_;
};

} // namespace qs::eval
