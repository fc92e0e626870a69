// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Text to token ids as the model's own tokenizer does it: added tokens, normalizers, pre-tokenizers, model,
// post-processor. It comes from tokenizer.json (as the tokenizers package reads it), from tokenizer.model
// (SentencePiece) or from the keys of a GGUF file (as llama.cpp reads them). Parts that are not known are refused by
// name.

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

/// A token with the bytes of the text that it comes from; none for tokens that are put before or after the text.
struct PlacedToken {
    std::int32_t id = 0;
    std::uint32_t begin = 0, end = 0;
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    /// The ids of a whole text, with the tokens that the post-processor puts before and after it. Errors: the text is
    /// not UTF-8, a pattern takes too many steps, or the job is cancelled.
    virtual Result<std::vector<std::int32_t>> encode(std::string_view text, const Job& job) const = 0;
    /// The same with places. A text of 4 GiB or more is also an error.
    virtual Result<std::vector<PlacedToken>> encodePlaced(std::string_view text, const Job& job) const = 0;
    /// Number of ids; they are 0 to size() - 1, though some may be unused.
    virtual std::int32_t size() const = 0;
    /// The bytes of the text that one token stands for: "Hel", " world", or a part of a character. Of a token that
    /// stands for no text, its name: "<s>". Empty: no token has this id.
    virtual std::string bytesOf(std::int32_t id) const = 0;
    /// The token as its file spells it: "Ġworld", "▁world". Empty: no token has this id.
    virtual std::string pieceOf(std::int32_t id) const = 0;
    virtual const std::string& path() const = 0; ///< path of the file that holds the tokenizer
};

/// The tokenizer of a GGUF file is its own; else tokenizer.json or tokenizer.model beside the weights. Errors are
/// sentences that name the file.
Result<std::shared_ptr<const Tokenizer>> tokenizerOf(const Model& model);
/// `json`: the text of a tokenizer.json; `path` names the place in errors.
Result<std::shared_ptr<const Tokenizer>> parseTokenizer(std::string_view json, const std::string& path);

} // namespace qs::eval
