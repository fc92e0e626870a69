// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/added_tokens.h"

#include "core/base/json_tree.h"
#include "core/eval/tokenizer/unicode.h"
#include "core/eval/tokenizer/vocabulary.h"

#include <algorithm>

namespace qs::eval {
namespace {

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
    token.id = std::int32_t(*id);
    return token;
}

void AddedTokens::add(AddedToken token) {
    auto& list = byFirst_[static_cast<unsigned char>(token.text[0])];
    const auto place = std::find_if(list.begin(), list.end(),
                                    [&](std::size_t other) { return tokens_[other].text.size() < token.text.size(); });
    list.insert(place, tokens_.size());
    tokens_.push_back(std::move(token));
}

const AddedToken* AddedTokens::at(std::string_view text, std::size_t at) const {
    for (const std::size_t i : byFirst_[static_cast<unsigned char>(text[at])])
        if (text.substr(at).starts_with(tokens_[i].text)) return &tokens_[i];
    return nullptr;
}

AddedTokens::Found AddedTokens::next(std::string_view text, std::size_t from) const {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
        if (byFirst_[static_cast<unsigned char>(text[begin])].empty()) continue;
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
