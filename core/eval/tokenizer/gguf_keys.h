// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The keys of a GGUF file that describe its vocabulary, with their arrays in full.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qs::eval {

struct GgufKeys {
    std::string model, pre;                                     ///< tokenizer.ggml.model, .pre
    std::vector<std::string> tokens, merges;                    ///< .tokens, .merges
    std::vector<float> scores;                                  ///< .scores; empty: none
    std::vector<std::int32_t> types;                            ///< .token_type; empty: all are normal
    std::vector<std::int8_t> charsmap;                          ///< .precompiled_charsmap; empty: none
    std::optional<std::int64_t> begin, end, unknown, separator; ///< .bos_token_id, .eos_token_id, ...
    std::optional<bool> addsBegin, addsEnd, addsSpace, removesSpaces, lowercase;
};

/// Errors are the end of a sentence: "has no vocabulary (tokenizer.ggml.tokens)".
Result<GgufKeys> readGgufKeys(std::span<const std::byte> head);

} // namespace qs::eval
