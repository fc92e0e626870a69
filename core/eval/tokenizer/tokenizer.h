// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Text to token ids as the tokenizers package does it from tokenizer.json: added tokens, normalizer, pre-tokenizer, BPE
// model, post-processor. Parts that are not known are refused by name.

#include "core/base/job.h"
#include "core/base/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace qs {
class Model;
}

namespace qs::eval {

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    /// Ids of a whole text, with what the post-processor puts before it. Errors: not UTF-8; cancelled.
    virtual Result<std::vector<std::int32_t>> encode(std::string_view text, const Job& job) const = 0;
    /// Number of ids; they are 0 to size() - 1, though some may be unused.
    virtual std::int32_t size() const = 0;
    /// The bytes of the text that one token stands for: "Hel", " world", or a part of a character. Of a token that stands
    /// for no text, its name: "<s>". Empty: no token has this id.
    virtual std::string bytesOf(std::int32_t id) const = 0;
};

/// From tokenizer.json beside the weights. Errors are sentences that name the file.
Result<std::shared_ptr<const Tokenizer>> tokenizerOf(const Model& model);
/// `json`: the text of a tokenizer.json; `path` names the place in errors.
Result<std::shared_ptr<const Tokenizer>> parseTokenizer(std::string_view json, const std::string& path);

} // namespace qs::eval
