// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Byte-pair encoding (Sennrich et al. 2016) of one piece of a text. It begins with the characters, and merges the pair
// of neighbours with the lowest rank until no pair can be merged. Of equal pairs the leftmost comes first.

#include "core/eval/tokenizer/pair_table.h"
#include "core/eval/tokenizer/subword_model.h"
#include "core/eval/tokenizer/vocabulary.h"

#include <array>

namespace qs::eval {

class Bpe final : public SubwordModel {
public:
    struct Settings {
        bool spellsBytes = false;   ///< pieces are bytes, spelled in the vocabulary as byteCharacters() says
        bool byteFallback = false;  ///< a character that is not a token becomes its bytes, "<0x0A>"
        bool fusesUnknown = false;  ///< unknown characters in a row are one unknown token
        bool ignoresMerges = false; ///< a piece that is a token is this token
        std::string unknown;        ///< token for a character that is not a token; "": such characters are left out
    };
    /// `inner` are characters of tokens that are not tokens themselves. Their ids follow those of the vocabulary.
    Bpe(Vocabulary vocabulary, Settings settings, PairTable merges, std::vector<std::string> inner);

    std::unique_ptr<Scratch> scratch() const override;
    void encode(std::string_view piece, Scratch& scratch, std::vector<Token>& into) const override;
    const Vocabulary& vocabulary() const override { return vocabulary_; }
    std::string bytesOf(std::int32_t id) const override;

private:
    struct Work;
    void begin(std::string_view piece, Work& work) const;
    void encodePart(std::string_view part, Work& work, std::vector<Token>& into) const;
    void mergeFew(Work& work) const;
    void mergeMany(Work& work) const;
    std::size_t partEnd(std::string_view piece, std::size_t begin) const;

    Vocabulary vocabulary_;
    Settings settings_;
    PairTable merges_;
    std::vector<std::int32_t> characters_;                ///< token of each code point; -1: none
    std::array<std::int32_t, 256> bytes_{};               ///< token of each byte; -1: none
    std::vector<std::string> inner_;                      ///< tokens that exist only in this model
    std::unordered_map<std::string, std::int32_t> whole_; ///< key: spelling of a piece; filled if ignoresMerges
    std::int32_t unknown_ = -1;
    bool cutsAtMarks_ = false; ///< true: no merge has a space mark behind another character, so pieces end there
};

} // namespace qs::eval
