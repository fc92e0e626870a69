// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The text of an evaluation as token ids, with where they came from.

#include "core/base/job.h"
#include "core/model/model.h"

#include <optional>

namespace qs::eval {

struct EvaluationText {
    std::string path, sha256;         ///< path and SHA-256 of the file
    std::vector<std::int32_t> tokens; ///< the inputs of the network
    /// The token that the tokenizer puts before a text. As in llama.cpp it replaces the first token of every chunk as
    /// an input, but not as a prediction. Empty: nothing is replaced.
    std::optional<std::int32_t> first = {};
    std::string tokenizer = {}; ///< path of the file that holds the tokenizer; "" if the text was token ids
    /// The tokens that the tokenizer puts before and after a text, if it does both. For an encoder they replace the
    /// first and the last token of every chunk.
    std::optional<std::pair<std::int32_t, std::int32_t>> frame = {};
};
/// The token that the model's tokenizer puts before a text; nullopt if there is no tokenizer or not exactly one token.
std::optional<std::int32_t> firstTokenOf(const Model& model);
/// The first `count` tokens as inputs, in chunks of `context`.
std::vector<std::int32_t> inputsOf(const EvaluationText& text, std::size_t count, std::size_t context);

/// Reads a text in UTF-8 with the model's own tokenizer. One newline at its end is ignored, as in llama.cpp. Errors:
/// there is no tokenizer, it refuses the text, or the job is cancelled.
Result<EvaluationText> textFromFile(const Model& model, const std::string& path, const Job& job);
/// Reads token ids: an array of integers (.npy), or whole numbers in a text file.
Result<EvaluationText> textFromTokens(const std::string& path, const Job& job);

} // namespace qs::eval
