// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The Unigram model (Kudo 2018). Of all ways to cut a piece into tokens it finds the one with the largest sum of
// scores, with the Viterbi algorithm.

#include "core/eval/tokenizer/subword_model.h"
#include "core/eval/tokenizer/vocabulary.h"

#include <array>

namespace qs::eval {

class Unigram final : public SubwordModel {
public:
    struct Settings {
        std::int32_t unknown = -1; ///< token for a character that is not a token; -1: there is none
        bool byteFallback = false; ///< such a character becomes its bytes
    };
    /// Reads the model of a tokenizer.json.
    static Result<SubwordModelPtr> read(const nlohmann::json& model, bool spellsBytes);
    /// `scores` has one score for each token. NaN: the token is never used for a text. Error: an unknown token is
    /// needed and does not exist.
    static Result<SubwordModelPtr> with(Vocabulary vocabulary, Settings settings, std::vector<double> scores);

    std::unique_ptr<Scratch> scratch() const override;
    void encode(std::string_view piece, Scratch& scratch, std::vector<Token>& into) const override;
    const Vocabulary& vocabulary() const override { return vocabulary_; }
    std::string bytesOf(std::int32_t id) const override;

private:
    struct Work;
    /// A node of the trie of all tokens; children are sorted by their byte.
    struct Node {
        std::int32_t id = -1;
        std::uint32_t firstChild = 0, children = 0;
    };
    void buildTrie();
    std::int64_t childOf(std::size_t node, unsigned char byte) const; ///< -1: none
    void search(std::string_view piece, Work& work) const;
    void put(std::string_view part, std::int32_t id, std::vector<Token>& into) const;

    Vocabulary vocabulary_;
    Settings settings_;
    std::vector<double> scores_;
    double unknownScore_ = 0;
    std::vector<Node> nodes_;
    std::vector<unsigned char> labels_; ///< byte that leads to each node
    std::array<std::int32_t, 256> bytes_{};
};

} // namespace qs::eval
