// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tokens that are looked for in a text before anything else: "<s>", "<|im_end|>".

#include "core/base/result.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
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
    /// Adds a token. If two tokens have the same text, the first one counts.
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
    /// A tree of their bytes: the node below a node (0: the root) by a byte. So a place costs no more than the longest
    /// token.
    std::unordered_map<std::uint64_t, std::uint32_t> below_;
    std::vector<std::int32_t> endsAt_ = {-1}; ///< of every node: the token that ends there; -1: none
    std::array<bool, 256> begins_{};          ///< bytes that a token begins with
};

} // namespace qs::eval
