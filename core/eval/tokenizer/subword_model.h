// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Models turn one piece of a text into tokens: byte-pair encoding, Unigram, WordPiece, words.

#include "core/base/result.h"
#include "core/eval/tokenizer/word_cache.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace qs::eval {

class Vocabulary;

class SubwordModel {
public:
    virtual ~SubwordModel() = default;
    /// Working memory of encode(), which the next call uses again.
    struct Scratch {
        virtual ~Scratch() = default;
    };
    virtual std::unique_ptr<Scratch> scratch() const { return std::make_unique<Scratch>(); }
    /// Appends the tokens of a piece. The piece is UTF-8, or any bytes if the model takes bytes.
    virtual void encode(std::string_view piece, Scratch& scratch, std::vector<Token>& into) const = 0;

    virtual const Vocabulary& vocabulary() const = 0;
    /// The bytes of the text that a token stands for.
    virtual std::string bytesOf(std::int32_t id) const = 0;
};
using SubwordModelPtr = std::unique_ptr<const SubwordModel>;

struct SubwordModelRow {
    const char* id; ///< "type" in tokenizer.json
    /// `spellsBytes`: pieces are bytes, and the vocabulary spells them (byte_level.h). Errors are the end of a
    /// sentence.
    Result<SubwordModelPtr> (*read)(const nlohmann::json& model, bool spellsBytes);
};

/// `model`: the value under "model" of tokenizer.json. Errors are the end of a sentence: "has a model of type ...".
Result<SubwordModelPtr> readModel(const nlohmann::json& model, bool spellsBytes);

} // namespace qs::eval
