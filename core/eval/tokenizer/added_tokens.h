// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tokens that are looked for in a text before anything else: "<s>", "<|im_end|>".

#include "core/base/result.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace qs::eval {

struct AddedToken {
    std::string text;
    std::int32_t id = 0;
    bool takesSpaceBefore = false, takesSpaceAfter = false; ///< lstrip, rstrip
    bool wholeWord = false;                                 ///< single_word
    bool normalized = false; ///< looked for in the normalized text, else in the text as it stands
};

/// One entry under "added_tokens" of tokenizer.json. Errors are the end of a sentence.
Result<AddedToken> readAddedToken(const nlohmann::json& entry);

/// Finds tokens from left to right; of those that begin at one place the longest.
class AddedTokens {
public:
    void add(AddedToken token);
    bool empty() const { return tokens_.empty(); }
    const std::vector<AddedToken>& tokens() const { return tokens_; }

    struct Found {
        const AddedToken* token = nullptr; ///< null: none follows
        std::size_t begin = 0, end = 0;    ///< with the spaces that it takes
    };
    /// The next one from `from` on.
    Found next(std::string_view text, std::size_t from) const;

private:
    const AddedToken* at(std::string_view text, std::size_t at) const;
    std::vector<AddedToken> tokens_;
    std::array<std::vector<std::size_t>, 256> byFirst_; ///< by their first byte, the longest first
};

} // namespace qs::eval
