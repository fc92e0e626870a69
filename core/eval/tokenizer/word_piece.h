// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// WordPiece (BERT): takes the longest token from left to right; tokens inside a word have a prefix. Also the model in
// which every token is a whole word (WordLevel).

#include "core/eval/tokenizer/subword_model.h"
#include "core/eval/tokenizer/vocabulary.h"

namespace qs::eval {

class WordPiece final : public SubwordModel {
public:
    struct Settings {
        std::string inside = "##"; ///< prefix of a token that does not begin a word
        std::string begin;         ///< prefix of a token that begins a word
        std::string unknown = "[UNK]";
        std::size_t mostCharacters = 100; ///< a longer word is unknown
        bool wholeWords = false;          ///< true: a word that is not a token is unknown
    };
    /// Reads the models WordPiece and WordLevel of a tokenizer.json.
    static Result<SubwordModelPtr> read(const nlohmann::json& model, bool spellsBytes);
    static Result<SubwordModelPtr> readWords(const nlohmann::json& model, bool spellsBytes);
    /// Error: there is no unknown token.
    static Result<SubwordModelPtr> with(Vocabulary vocabulary, Settings settings);

    void encode(std::string_view piece, Scratch& scratch, std::vector<Token>& into) const override;
    const Vocabulary& vocabulary() const override { return vocabulary_; }
    std::string bytesOf(std::int32_t id) const override;

private:
    Vocabulary vocabulary_;
    Settings settings_;
    std::int32_t unknown_ = -1;
    std::size_t longest_ = 0; ///< bytes of the longest token
};

} // namespace qs::eval
