// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The files that a tokenizer can come from, beside tokenizer.json.

#include "core/eval/tokenizer/tokenizer.h"

#include <cstddef>
#include <span>

namespace qs::eval {

/// The keys tokenizer.ggml.* at the start of a GGUF file, as llama.cpp reads them: tokens for control are text.
/// `head`: the file at least up to its tensors. Errors are sentences that name `path`.
Result<std::shared_ptr<const Tokenizer>> parseGgufTokenizer(std::span<const std::byte> head, const std::string& path);

/// tokenizer.model: a ModelProto of SentencePiece of the types BPE and Unigram. Errors are sentences that name `path`.
/// `addsBegin`, `addsEnd`: a token for the begin or end of a text is put there, where the file has one.
Result<std::shared_ptr<const Tokenizer>> parseSentencePiece(std::string_view bytes, const std::string& path,
                                                            bool addsBegin, bool addsEnd);

} // namespace qs::eval
