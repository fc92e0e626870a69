// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Byte-pair encoding (Sennrich et al. 2016) of one piece of a text: begins with its characters, then merges the pair of
// neighbours with the lowest rank until none is left, the leftmost of equals first.

#include "core/eval/tokenizer/pair_table.h"
#include "core/eval/tokenizer/subword_model.h"
#include "core/eval/tokenizer/vocabulary.h"

#include <array>

namespace qs::eval {

class Bpe final : public SubwordModel {
public:
    struct Settings {
        bool spellsBytes = false;   ///< pieces are bytes, spelled in the vocabulary as byteCharacters() says
        bool byteFallback = false;  ///< a character that is no token becomes its bytes, "<0x0A>"
        bool fusesUnknown = false;  ///< unknown characters in a row are one unknown token
        bool ignoresMerges = false; ///< a piece that is a token is this token
        std::string unknown;        ///< token of a character that has none; "": it is left out
    };
    /// `inner`: characters of tokens that are no tokens themselves. Their ids follow the vocabulary.
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
    std::vector<std::string> inner_;                      ///< tokens that this model alone knows
    std::unordered_map<std::string, std::int32_t> whole_; ///< spelled as pieces are; filled where ignoresMerges
    std::int32_t unknown_ = -1;
    bool cutsAtMarks_ = false; ///< no merge has a mark of a space behind another character
};

} // namespace qs::eval
