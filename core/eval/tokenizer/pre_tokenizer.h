// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Pre-tokenizers cut a text into pieces; the model then takes one piece after another. They are a chain of steps from
// tokenizer.json. A step cuts every piece of the step before with a pattern, or rewrites it.

#include "core/eval/tokenizer/pattern.h"
#include "core/eval/tokenizer/tracked_text.h"

#include <span>

namespace qs::eval {

/// What happens to the text that a pattern matches.
enum class Behavior : std::uint8_t { Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous };

struct Cut {
    PatternPtr pattern; ///< null: the step uses `rewrite`
    bool invert = false;
    Behavior behavior = Behavior::Isolated;
    Rewrite rewrite;
};

struct PreTokenizer {
    std::vector<Cut> steps;
    bool spellsBytes = false; ///< pieces are bytes, which byteCharacters() spells before the model takes them
};

/// Calls `piece` for each part of a text. Error: a pattern takes too many steps.
Result<void> cutBy(const Cut& cut, std::string_view text, Callee<void(std::string_view)> piece);

struct PreTokenizerRow {
    const char* id; ///< "type" in tokenizer.json
    /// Appends its steps. Errors are the end of a sentence: "has the pattern ...".
    Result<void> (*read)(const nlohmann::json& step, PreTokenizer& into);
};
std::span<const PreTokenizerRow> preTokenizers();

/// `step`: the value under "pre_tokenizer"; null: the text stays in one piece. Errors: "has the pre-tokenizer ...".
Result<void> readPreTokenizer(const nlohmann::json& step, PreTokenizer& into);

} // namespace qs::eval
