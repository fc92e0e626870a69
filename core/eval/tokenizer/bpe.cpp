// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/bpe.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"

#include <algorithm>
#include <fmt/format.h>
#include <queue>

namespace qs::eval {
namespace {

using nlohmann::json;

/// Bytes of the character that begins with this byte of valid UTF-8.
std::size_t characterLength(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

} // namespace

Result<Bpe> Bpe::read(const json& model) {
    Bpe out;
    const auto vocabulary = model.find("vocab"), merges = model.find("merges");
    if (vocabulary == model.end() || !vocabulary->is_object() || merges == model.end() || !merges->is_array())
        return fail("has no vocabulary or no merges");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (!textAt(model, key).empty()) return fail(fmt::format("has a {}, which is not known", key));
    if (const auto dropout = model.find("dropout"); dropout != model.end() && dropout->is_number() && *dropout != 0)
        return fail("drops merges at random");
    for (const auto& [token, id] : vocabulary->items()) {
        if (!id.is_number_integer() || id < 0 || id > (1 << 24))
            return fail(fmt::format("has no id for the token {}", quotedName(token)));
        const auto number = id.get<std::int32_t>();
        out.vocabulary_.emplace(token, number);
        out.size_ = std::max(out.size_, number + 1);
    }
    std::int32_t rank = 0;
    for (const json& merge : *merges) {
        std::string left, right;
        if (merge.is_string()) {
            const auto& text = merge.get_ref<const std::string&>();
            const std::size_t space = text.find(' ');
            if (space != std::string::npos) left = text.substr(0, space), right = text.substr(space + 1);
        } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            left = merge[0].get<std::string>(), right = merge[1].get<std::string>();
        }
        const std::int32_t a = out.idOf(left), b = out.idOf(right), both = out.idOf(left + right);
        if (a < 0 || b < 0 || both < 0)
            return fail(fmt::format("has the merge {} of tokens that it does not have", rank));
        out.merges_.emplace(pairKey(a, b), Merge{rank++, both});
    }
    out.byteFallback_ = flagAt(model, "byte_fallback", false);
    out.fusesUnknown_ = flagAt(model, "fuse_unk", false);
    out.ignoresMerges_ = flagAt(model, "ignore_merges", false);
    out.unknown_ = out.idOf(textAt(model, "unk_token"));
    for (int byte = 0; byte < 256; ++byte) out.bytes_[byte] = out.idOf(fmt::format("<0x{:02X}>", byte));
    return out;
}

std::int32_t Bpe::idOf(const std::string& token) const {
    const auto found = vocabulary_.find(token);
    return token.empty() || found == vocabulary_.end() ? -1 : found->second;
}

int Bpe::byteOf(std::int32_t id) const {
    if (!byteFallback_ || id < 0) return -1;
    const auto found = std::find(std::begin(bytes_), std::end(bytes_), id);
    return found == std::end(bytes_) ? -1 : int(found - std::begin(bytes_));
}

void Bpe::encode(std::string_view piece, std::vector<std::int32_t>& into) const {
    if (ignoresMerges_)
        if (const std::int32_t whole = idOf(std::string(piece)); whole >= 0) return into.push_back(whole);
    struct Symbol {
        std::int32_t id, before, after; ///< neighbours by index; -1: none
    };
    std::vector<Symbol> symbols;
    const auto add = [&](std::int32_t id) {
        const auto index = std::int32_t(symbols.size());
        if (index > 0) symbols.back().after = index;
        symbols.push_back({id, index - 1, -1});
    };
    bool wasUnknown = false;
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t length = std::min(characterLength(piece[at]), piece.size() - at);
        const std::string_view character = piece.substr(at, length);
        at += length;
        const std::int32_t id = idOf(std::string(character));
        const bool hasBytes = byteFallback_ && std::all_of(character.begin(), character.end(), [&](char c) {
                                  return bytes_[static_cast<unsigned char>(c)] >= 0;
                              });
        if (id >= 0)
            add(id);
        else if (hasBytes)
            for (const char c : character) add(bytes_[static_cast<unsigned char>(c)]);
        else if (unknown_ >= 0 && !(fusesUnknown_ && wasUnknown))
            add(unknown_);
        wasUnknown = id < 0 && !hasBytes;
    }
    struct Candidate {
        std::int32_t rank, left, leftId, rightId;
        bool operator<(const Candidate& other) const { // the least is on top
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };
    std::priority_queue<Candidate> queue;
    const auto consider = [&](std::int32_t left) {
        if (left < 0 || symbols[std::size_t(left)].after < 0) return;
        const Symbol& a = symbols[std::size_t(left)];
        const Symbol& b = symbols[std::size_t(a.after)];
        if (const auto found = merges_.find(pairKey(a.id, b.id)); found != merges_.end())
            queue.push({found->second.rank, left, a.id, b.id});
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) consider(std::int32_t(i));
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& a = symbols[std::size_t(best.left)];
        if (a.id != best.leftId || a.after < 0 || symbols[std::size_t(a.after)].id != best.rightId)
            continue; // merged since
        Symbol& b = symbols[std::size_t(a.after)];
        a.id = merges_.at(pairKey(best.leftId, best.rightId)).id;
        b.id = -1;
        a.after = b.after;
        if (b.after >= 0) symbols[std::size_t(b.after)].before = best.left;
        consider(a.before);
        consider(best.left);
    }
    for (std::int32_t i = symbols.empty() ? -1 : 0; i >= 0; i = symbols[std::size_t(i)].after)
        into.push_back(symbols[std::size_t(i)].id);
}

} // namespace qs::eval
