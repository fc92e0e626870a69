// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads tokenizers from other files than tokenizer.json.

#include "core/eval/tokenizer/tokenizer.h"

#include <cstddef>
#include <span>

namespace qs::eval {

/// Reads the keys tokenizer.ggml.* of a GGUF file like llama.cpp, which treats control tokens in a text as plain text.
/// `head` is the file, at least up to its tensors. Errors are sentences that name `path`.
Result<std::shared_ptr<const Tokenizer>> parseGgufTokenizer(std::span<const std::byte> head, const std::string& path);

/// Reads tokenizer.model: a ModelProto of SentencePiece of type BPE or Unigram. Errors are sentences that name `path`.
/// With `addsBegin` and `addsEnd` the tokens for the begin and the end of a text are added, if the file has them.
Result<std::shared_ptr<const Tokenizer>> parseSentencePiece(std::string_view bytes, const std::string& path,
                                                            bool addsBegin, bool addsEnd);

} // namespace qs::eval
