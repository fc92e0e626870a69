// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The parts of a tokenizer, and the tokenizer that runs them.

#include "core/eval/tokenizer/added_tokens.h"
#include "core/eval/tokenizer/normalizer.h"
#include "core/eval/tokenizer/post_processor.h"
#include "core/eval/tokenizer/pre_tokenizer.h"
#include "core/eval/tokenizer/subword_model.h"
#include "core/eval/tokenizer/tokenizer.h"

namespace qs::eval {

struct TokenizerParts {
    AddedTokens raw, normalized; ///< searched in the original text; searched in the normalized text
    Normalizers normalizers;
    PreTokenizer cuts;
    SubwordModelPtr model;
    Frame frame;
    std::int32_t size = 0; ///< number of ids
    std::string path;
};

std::shared_ptr<const Tokenizer> makeTokenizer(TokenizerParts parts);

} // namespace qs::eval
