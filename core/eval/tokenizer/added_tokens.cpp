// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/added_tokens.h"

#include "core/base/json_tree.h"
#include "core/eval/tokenizer/unicode.h"
#include "core/eval/tokenizer/vocabulary.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr std::size_t kLongestToken = 4096; ///< bytes; real ones have a few dozen

std::size_t characterBefore(std::string_view text, std::size_t at) {
    do --at;
    while (at > 0 && (text[at] & 0xC0) == 0x80);
    return at;
}

bool isWordAt(std::string_view text, std::size_t at) {
    const Character c = characterAt(text, at);
    return c.bytes > 0 && is(flagsOf(c.value), kWord);
}

bool isSpaceAt(std::string_view text, std::size_t at) {
    const Character c = characterAt(text, at);
    return c.bytes > 0 && is(flagsOf(c.value), kSpace);
}

} // namespace

Result<AddedToken> readAddedToken(const nlohmann::json& entry) {
    AddedToken token{textAt(entry, "content"),
                     0,
                     flagAt(entry, "lstrip", false),
                     flagAt(entry, "rstrip", false),
                     flagAt(entry, "single_word", false),
                     flagAt(entry, "normalized", false)};
    const auto id = countAt(entry, "id");
    if (token.text.empty() || !id || *id >= std::uint64_t(kMostIds))
        return fail("has an added token without text or id");
    if (token.text.size() > kLongestToken)
        return fail(fmt::format("has an added token of {} bytes; at most {} can be", token.text.size(), kLongestToken));
    token.id = std::int32_t(*id);
    return token;
}

void AddedTokens::add(AddedToken token) {
    std::uint32_t node = 0;
    for (const char byte : token.text) {
        const auto [next, isNew] = below_.try_emplace(std::uint64_t(node) << 8 | static_cast<unsigned char>(byte),
                                                      std::uint32_t(endsAt_.size()));
        if (isNew) endsAt_.push_back(-1);
        node = next->second;
    }
    if (endsAt_[node] < 0) endsAt_[node] = std::int32_t(tokens_.size());
    begins_[static_cast<unsigned char>(token.text[0])] = true;
    tokens_.push_back(std::move(token));
}

const AddedToken* AddedTokens::at(std::string_view text, std::size_t at) const {
    std::int32_t found = -1;
    std::uint32_t node = 0;
    for (; at < text.size(); ++at) {
        const auto next = below_.find(std::uint64_t(node) << 8 | static_cast<unsigned char>(text[at]));
        if (next == below_.end()) break;
        node = next->second;
        if (endsAt_[node] >= 0) found = endsAt_[node];
    }
    return found < 0 ? nullptr : &tokens_[std::size_t(found)];
}

AddedTokens::Found AddedTokens::next(std::string_view text, std::size_t from) const {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
        if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
        const AddedToken* token = at(text, begin);
        if (!token) continue;
        Found found{token, begin, begin + token->text.size()};
        const bool within = (begin > 0 && isWordAt(text, characterBefore(text, begin))) || isWordAt(text, found.end);
        if (token->wholeWord && within) {
            begin = found.end - 1;
            continue;
        }
        if (token->takesSpaceBefore)
            while (found.begin > from && isSpaceAt(text, characterBefore(text, found.begin)))
                found.begin = characterBefore(text, found.begin);
        if (token->takesSpaceAfter)
            while (isSpaceAt(text, found.end)) found.end += characterAt(text, found.end).bytes;
        return found;
    }
    return {nullptr, text.size(), text.size()};
}

} // namespace qs::eval
