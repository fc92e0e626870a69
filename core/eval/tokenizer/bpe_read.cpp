// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/bpe_read.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/eval/tokenizer/unicode.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

/// Reads a merge, "a b" or ["a", "b"]. Returns two empty texts if it is neither.
std::pair<std::string, std::string> mergeOf(const json& merge) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
        return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    if (!merge.is_string()) return {};
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ', 1);
    if (space == std::string::npos) return {};
    return {text.substr(0, space), text.substr(space + 1)};
}

} // namespace

Result<SubwordModelPtr> readBpe(const json& model, bool spellsBytes) {
    auto vocabulary = Vocabulary::read(valueAt(model, "vocab"));
    if (!vocabulary) return tl::unexpected(vocabulary.error());
    const json& list = valueAt(model, "merges");
    if (!list.is_array()) return fail("has no merges");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (!textAt(model, key).empty()) return fail(fmt::format("has a {}, which is not known", key));
    if (const json& dropout = valueAt(model, "dropout"); dropout.is_number() && dropout != 0)
        return fail("drops merges at random");
    Bpe::Settings settings;
    settings.spellsBytes = spellsBytes;
    settings.byteFallback = flagAt(model, "byte_fallback", false);
    settings.fusesUnknown = flagAt(model, "fuse_unk", false);
    settings.ignoresMerges = flagAt(model, "ignore_merges", false);
    settings.unknown = textAt(model, "unk_token");
    std::vector<std::pair<std::string, std::string>> merges;
    merges.reserve(list.size());
    for (const json& merge : list) merges.push_back(mergeOf(merge));
    return bpeWithMerges(std::move(*vocabulary), std::move(settings), merges);
}

Result<SubwordModelPtr> bpeWithMerges(Vocabulary vocabulary, Bpe::Settings settings,
                                      const std::vector<std::pair<std::string, std::string>>& merges) {
    PairTable table;
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const auto& [left, right] = merges[rank];
        const std::int32_t a = vocabulary.idOf(left), b = vocabulary.idOf(right), both = vocabulary.idOf(left + right);
        if (left.empty() || right.empty() || a < 0 || b < 0 || both < 0)
            return fail(fmt::format("has the merge {} of tokens that it does not have", rank));
        table.insert(a, b, {std::int32_t(rank), both});
    }
    return std::make_unique<const Bpe>(std::move(vocabulary), std::move(settings), std::move(table),
                                       std::vector<std::string>());
}

Result<SubwordModelPtr> bpeWithScores(Vocabulary vocabulary, Bpe::Settings settings, const std::vector<float>& scores) {
    constexpr std::size_t kLongestToken = 512; // its halves are tried at each character
    PairTable table;
    std::vector<std::string> inner;
    const Vocabulary& known = vocabulary;
    std::vector<std::int32_t> order;
    for (std::int32_t id = 0; id < known.size(); ++id)
        if (!std::isnan(scores[std::size_t(id)]) && known.idOf(known.tokenOf(id)) == id) order.push_back(id);
    std::ranges::stable_sort(
        order, [&](std::int32_t a, std::int32_t b) { return scores[std::size_t(a)] > scores[std::size_t(b)]; });
    std::unordered_map<std::string_view, std::int32_t>
        innerIds; // characters that are no tokens, by their text in a token
    const auto symbolOf = [&](std::string_view text) {
        if (const auto id = known.idOf(text); id >= 0 && !std::isnan(scores[std::size_t(id)])) return id;
        if (characterAt(text, 0).bytes != text.size()) return -1;
        if (const auto id = known.idOf(text); id >= 0) return id;
        const auto [at, isNew] = innerIds.emplace(text, known.size() + std::int32_t(inner.size()));
        if (isNew) inner.emplace_back(text);
        return at->second;
    };
    std::int32_t rank = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::int32_t id = order[i];
        if (i > 0 && scores[std::size_t(id)] < scores[std::size_t(order[i - 1])]) ++rank;
        const std::string_view token = known.tokenOf(id);
        if (token.size() > kLongestToken)
            return fail(fmt::format("has a token of {} bytes, more than {}", token.size(), kLongestToken));
        for (std::size_t at = characterAt(token, 0).bytes; at < token.size(); at += characterAt(token, at).bytes) {
            const std::int32_t left = symbolOf(token.substr(0, at)), right = symbolOf(token.substr(at));
            if (left >= 0 && right >= 0) table.insert(left, right, {rank, id});
        }
    }
    return std::make_unique<const Bpe>(std::move(vocabulary), std::move(settings), std::move(table), std::move(inner));
}

} // namespace qs::eval
