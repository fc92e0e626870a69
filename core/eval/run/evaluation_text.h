// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The text of an evaluation as token ids, with where they came from.

#include "core/base/job.h"
#include "core/model/model.h"

#include <optional>

namespace qs::eval {

struct EvaluationText {
    std::string path, sha256;         ///< of the file
    std::vector<std::int32_t> tokens; ///< as the network takes them
    /// What takes the place of the first token of every chunk as an input, as in llama.cpp: the token that the tokenizer
    /// puts before a text. It stays as a prediction. None: nothing does.
    std::optional<std::int32_t> first = {};
    std::string tokenizer = {}; ///< path of the file that the model's tokenizer comes from; empty: the text was ids
    /// What the tokenizer puts before and after a text, where it does both. They take the place of the first and the
    /// last token of every chunk of an encoder.
    std::optional<std::pair<std::int32_t, std::int32_t>> frame = {};
};
/// The token that the model's tokenizer puts before a text; none where there is no tokenizer, or none or several tokens.
std::optional<std::int32_t> firstTokenOf(const Model& model);
/// The first `count` tokens as inputs, in chunks of `context`.
std::vector<std::int32_t> inputsOf(const EvaluationText& text, std::size_t count, std::size_t context);

/// A text in UTF-8, through the model's own tokenizer. One newline at its end does not count, as in llama.cpp. Errors: no
/// tokenizer, a text that it refuses, cancelled.
Result<EvaluationText> textFromFile(const Model& model, const std::string& path, const Job& job);
/// Token ids as they stand: an array of integers (.npy) or whole numbers in a text file.
Result<EvaluationText> textFromTokens(const std::string& path, const Job& job);

} // namespace qs::eval
