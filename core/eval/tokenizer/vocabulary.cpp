// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/vocabulary.h"

#include "core/base/tensor_name.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {

Result<Vocabulary> Vocabulary::read(const nlohmann::json& object) {
    if (!object.is_object()) return fail("has no vocabulary");
    Vocabulary out;
    std::int64_t most = -1;
    for (const auto& [token, id] : object.items()) {
        if (!id.is_number_integer() || id < 0 || id >= kMostIds)
            return fail(fmt::format("has no id for the token {}", quotedName(token)));
        most = std::max(most, id.get<std::int64_t>());
    }
    // Ids may have gaps, but a small file does not make a large list.
    if (most >= std::int64_t(object.size()) * 64 + 1024)
        return fail(fmt::format("has the id {} among {} tokens", most, object.size()));
    out.tokens_.resize(std::size_t(most + 1));
    std::vector<bool> taken(out.tokens_.size());
    for (const auto& [token, id] : object.items()) {
        const auto at = id.get<std::size_t>();
        if (taken[at])
            return fail(
                fmt::format("gives the id {} to {} and to {}", at, quotedName(out.tokens_[at]), quotedName(token)));
        taken[at] = true;
        out.tokens_[at] = token;
    }
    out.ids_.reserve(out.tokens_.size());
    for (std::size_t at = 0; at < out.tokens_.size(); ++at)
        if (taken[at]) out.ids_.emplace(out.tokens_[at], std::int32_t(at));
    return out;
}

Vocabulary Vocabulary::of(std::vector<std::string> tokens) {
    Vocabulary out;
    out.tokens_ = std::move(tokens);
    out.ids_.reserve(out.tokens_.size());
    for (std::size_t at = 0; at < out.tokens_.size(); ++at) out.ids_.emplace(out.tokens_[at], std::int32_t(at));
    return out;
}

const std::string& Vocabulary::tokenOf(std::int32_t id) const {
    static const std::string none;
    return id < 0 || id >= size() ? none : tokens_[std::size_t(id)];
}

std::int32_t Vocabulary::idOf(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
}

int byteOfToken(std::string_view token) {
    int value = -1;
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
    return error == std::errc() && end == token.data() + 5 ? value : -1;
}

std::string unmarked(std::string_view token) {
    std::string out;
    while (!token.empty()) {
        const bool marked = token.starts_with(kSpaceMark);
        out += marked ? ' ' : token[0];
        token.remove_prefix(marked ? kSpaceMark.size() : 1);
    }
    return out;
}

} // namespace qs::eval
