// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Added tokens such as "<s>" and "<|im_end|>". They are found in a text before the tokenizer does anything else.

#include "core/base/result.h"

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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
    bool normalized = false; ///< true: it is searched in the normalized text; false: in the original text
};

/// Reads one entry of "added_tokens" in tokenizer.json. Errors are the end of a sentence.
Result<AddedToken> readAddedToken(const nlohmann::json& entry);

/// Finds added tokens from left to right. If several begin at the same place, the longest one is taken.
class AddedTokens {
public:
    /// Adds a token. If two tokens have the same text, the first one counts.
    void add(AddedToken token);
    bool empty() const { return tokens_.empty(); }
    const std::vector<AddedToken>& tokens() const { return tokens_; }

    struct Found {
        const AddedToken* token = nullptr; ///< null: there are no more
        std::size_t begin = 0, end = 0;    ///< its place, with the spaces that it takes
    };
    /// The next added token from byte `from` on.
    Found next(std::string_view text, std::size_t from) const;

private:
    const AddedToken* at(std::string_view text, std::size_t at) const;
    std::vector<AddedToken> tokens_;
    /// A tree of the tokens' bytes: (node, byte) -> the node below; node 0 is the root. So the search at one place
    /// takes at most as many steps as the longest token has bytes.
    std::unordered_map<std::uint64_t, std::uint32_t> below_;
    std::vector<std::int32_t> endsAt_ = {-1}; ///< for each node the token that ends there; -1: none
    std::array<bool, 256> begins_{};          ///< bytes that a token begins with
};

} // namespace qs::eval
