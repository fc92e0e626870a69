// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/unigram.h"

#include "core/base/json_tree.h"
#include "core/eval/tokenizer/unicode.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

constexpr double kUnknownPenalty = 10; ///< score of an unknown character = score of the worst token minus this

} // namespace

struct Unigram::Work final : SubwordModel::Scratch {
    /// The best way to reach a byte of the piece.
    struct Step {
        double score = 0;
        std::size_t begin = 0; ///< of the token that ends here
        std::int32_t id = -1;
        bool reached = false;
    };
    std::vector<Step> steps;
    std::vector<std::size_t> ends;
};

std::unique_ptr<SubwordModel::Scratch> Unigram::scratch() const { return std::make_unique<Work>(); }

Result<SubwordModelPtr> Unigram::read(const json& model, bool) {
    const json& list = valueAt(model, "vocab");
    if (!list.is_array() || list.empty()) return fail("has no vocabulary");
    if (list.size() > std::size_t(kMostIds)) return fail(fmt::format("has {} tokens, too many", list.size()));
    std::vector<std::string> tokens;
    std::vector<double> scores;
    for (const json& entry : list) {
        if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
            return fail(fmt::format("has no token with its score at place {} of its vocabulary", tokens.size()));
        tokens.push_back(entry[0].get<std::string>());
        scores.push_back(entry[1].get<double>());
    }
    Settings settings;
    settings.byteFallback = flagAt(model, "byte_fallback", false);
    if (const auto unknown = countAt(model, "unk_id")) {
        if (*unknown >= tokens.size())
            return fail(fmt::format("has the unknown token {}, which is none of its tokens", *unknown));
        settings.unknown = std::int32_t(*unknown);
    }
    return with(Vocabulary::of(std::move(tokens)), settings, std::move(scores));
}

Result<SubwordModelPtr> Unigram::with(Vocabulary vocabulary, Settings settings, std::vector<double> scores) {
    auto out = std::make_unique<Unigram>();
    out->vocabulary_ = std::move(vocabulary), out->settings_ = settings, out->scores_ = std::move(scores);
    double least = std::numeric_limits<double>::infinity();
    for (const double score : out->scores_)
        if (score < least) least = score;
    if (!std::isfinite(least)) return fail("has no token with a score");
    out->unknownScore_ = least - kUnknownPenalty;
    out->bytes_.fill(-1);
    for (std::int32_t id = 0; id < out->vocabulary_.size(); ++id)
        if (const int byte = byteOfToken(out->vocabulary_.tokenOf(id)); byte >= 0) out->bytes_[std::size_t(byte)] = id;
    out->buildTrie();
    return out;
}

/// Builds the trie level by level from the sorted tokens. So the children of a node are neighbours.
void Unigram::buildTrie() {
    std::vector<std::int32_t> order;
    for (std::int32_t id = 0; id < vocabulary_.size(); ++id)
        if (!vocabulary_.tokenOf(id).empty() && !std::isnan(scores_[std::size_t(id)])) order.push_back(id);
    std::ranges::stable_sort(
        order, [&](std::int32_t a, std::int32_t b) { return vocabulary_.tokenOf(a) < vocabulary_.tokenOf(b); });
    struct Range {
        std::size_t begin, end, depth;
    };
    std::vector<Range> ranges{{0, order.size(), 0}};
    nodes_.assign(1, {}), labels_.assign(1, 0);
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        auto [begin, end, depth] = ranges[node];
        for (; begin < end && vocabulary_.tokenOf(order[begin]).size() == depth; ++begin)
            nodes_[node].id = order[begin]; // of equal tokens the last one counts
        nodes_[node].firstChild = std::uint32_t(nodes_.size());
        while (begin < end) {
            const char label = vocabulary_.tokenOf(order[begin])[depth];
            std::size_t last = begin;
            while (last < end && vocabulary_.tokenOf(order[last])[depth] == label) ++last;
            nodes_.emplace_back(), labels_.push_back(static_cast<unsigned char>(label));
            ranges.push_back({begin, last, depth + 1});
            ++nodes_[node].children;
            begin = last;
        }
    }
}

std::int64_t Unigram::childOf(std::size_t node, unsigned char byte) const {
    const auto first = labels_.begin() + std::ptrdiff_t(nodes_[node].firstChild);
    const auto last = first + std::ptrdiff_t(nodes_[node].children);
    const auto found = std::lower_bound(first, last, byte);
    return found == last || *found != byte ? -1 : found - labels_.begin();
}

void Unigram::search(std::string_view piece, Work& work) const {
    auto& steps = work.steps;
    steps.assign(piece.size() + 1, {});
    const auto reach = [&](std::size_t begin, std::size_t end, double score, std::int32_t id) {
        Work::Step& step = steps[end];
        if (!step.reached || score > step.score) step = {score, begin, id, true};
    };
    for (std::size_t at = 0; at < piece.size();) {
        const double before = steps[at].score;
        const std::size_t character = at + characterAt(piece, at).bytes;
        bool alone = false; // the character is a token
        std::size_t end = at;
        for (std::int64_t node = 0; end < piece.size();) {
            node = childOf(std::size_t(node), static_cast<unsigned char>(piece[end]));
            if (node < 0) break;
            ++end;
            const std::int32_t id = nodes_[std::size_t(node)].id;
            if (id < 0) continue;
            reach(at, end, before + scores_[std::size_t(id)], id);
            alone = alone || end == character;
        }
        if (!alone) reach(at, character, before + unknownScore_, settings_.unknown);
        at = character;
    }
}

/// Appends a token, or the tokens for unknown characters.
void Unigram::put(std::string_view part, std::int32_t id, std::vector<Token>& into) const {
    const bool unknown = id < 0 || id == settings_.unknown;
    const bool hasBytes = unknown && settings_.byteFallback &&
                          std::ranges::all_of(part, [&](char c) { return bytes_[static_cast<unsigned char>(c)] >= 0; });
    if (hasBytes)
        for (const char c : part) into.push_back({bytes_[static_cast<unsigned char>(c)], 1});
    else if (id >= 0)
        into.push_back({id, std::uint32_t(part.size())});
}

void Unigram::encode(std::string_view piece, Scratch& scratch, std::vector<Token>& into) const {
    auto& work = static_cast<Work&>(scratch);
    search(piece, work);
    auto& ends = work.ends;
    ends.clear();
    for (std::size_t end = piece.size(); end > 0; end = work.steps[end].begin) {
        // Unknown characters in a row are one token.
        const bool unknown = work.steps[end].id == settings_.unknown;
        const bool joins = unknown && !ends.empty() && work.steps[ends.back()].id == settings_.unknown;
        if (!joins) ends.push_back(end);
    }
    std::size_t begin = 0;
    for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
        put(piece.substr(begin, *end - begin), work.steps[*end].id, into);
        begin = *end;
    }
}

std::string Unigram::bytesOf(std::int32_t id) const {
    const std::string& text = vocabulary_.tokenOf(id);
    if (const int byte = byteOfToken(text); byte >= 0 && settings_.byteFallback) return {char(byte)};
    return unmarked(text);
}

} // namespace qs::eval
