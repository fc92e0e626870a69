// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/word_piece.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/eval/tokenizer/unicode.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {

using nlohmann::json;

Result<SubwordModelPtr> WordPiece::read(const json& model, bool) {
    auto vocabulary = Vocabulary::read(valueAt(model, "vocab"));
    if (!vocabulary) return tl::unexpected(vocabulary.error());
    Settings settings;
    if (valueAt(model, "continuing_subword_prefix").is_string())
        settings.inside = textAt(model, "continuing_subword_prefix");
    if (valueAt(model, "unk_token").is_string()) settings.unknown = textAt(model, "unk_token");
    if (const auto most = countAt(model, "max_input_chars_per_word")) settings.mostCharacters = *most;
    return with(std::move(*vocabulary), std::move(settings));
}

Result<SubwordModelPtr> WordPiece::readWords(const json& model, bool) {
    auto vocabulary = Vocabulary::read(valueAt(model, "vocab"));
    if (!vocabulary) return tl::unexpected(vocabulary.error());
    Settings settings;
    settings.wholeWords = true;
    settings.unknown = textAt(model, "unk_token");
    return with(std::move(*vocabulary), std::move(settings));
}

Result<SubwordModelPtr> WordPiece::with(Vocabulary vocabulary, Settings settings) {
    auto out = std::make_unique<WordPiece>();
    out->vocabulary_ = std::move(vocabulary), out->settings_ = std::move(settings);
    out->unknown_ = out->vocabulary_.idOf(out->settings_.unknown);
    if (out->unknown_ < 0)
        return fail(fmt::format("has no unknown token {} in its vocabulary", quotedName(out->settings_.unknown)));
    for (const std::string& token : out->vocabulary_.tokens()) out->longest_ = std::max(out->longest_, token.size());
    return out;
}

void WordPiece::encode(std::string_view piece, Scratch&, std::vector<Token>& into) const {
    const auto unknown = [&] { into.push_back({unknown_, std::uint32_t(piece.size())}); };
    if (settings_.wholeWords) {
        const std::int32_t id = vocabulary_.idOf(piece);
        return id < 0 ? unknown() : into.push_back({id, std::uint32_t(piece.size())});
    }
    const auto characters = std::size_t(std::ranges::count_if(piece, [](char c) { return (c & 0xC0) != 0x80; }));
    if (characters > settings_.mostCharacters) return unknown();
    const std::size_t first = into.size();
    std::string token;
    for (std::size_t at = 0; at < piece.size();) {
        const std::string& prefix = at > 0 ? settings_.inside : settings_.begin;
        std::int32_t id = -1;
        std::size_t end = std::min(piece.size(), at + longest_);
        for (; end > at && id < 0; end -= id < 0) {
            if (end < piece.size() && (piece[end] & 0xC0) == 0x80) continue; // a token must not end inside a character
            token = prefix;
            token += piece.substr(at, end - at);
            id = vocabulary_.idOf(token);
        }
        if (id < 0) {
            into.resize(first);
            return unknown();
        }
        into.push_back({id, std::uint32_t(end - at)});
        at = end;
    }
}

std::string WordPiece::bytesOf(std::int32_t id) const {
    const std::string& token = vocabulary_.tokenOf(id);
    if (settings_.inside.empty() && !settings_.begin.empty())
        return token.starts_with(settings_.begin) ? " " + token.substr(settings_.begin.size()) : token;
    return token.starts_with(settings_.inside) && token != settings_.inside ? token.substr(settings_.inside.size())
                                                                            : token;
}

} // namespace qs::eval
