// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/bpe.h"

#include "core/eval/tokenizer/byte_level.h"
#include "core/eval/tokenizer/unicode.h"

#include <algorithm>

namespace qs::eval {
namespace {

constexpr std::size_t kFew = 96; ///< for up to this many symbols a plain search for the best pair is faster
constexpr std::int32_t kNoRank = 0x7FFFFFFF;

} // namespace

struct Bpe::Work final : SubwordModel::Scratch {
    struct Symbol {
        std::int32_t id = -1;
        std::uint32_t bytes = 0;
        std::int32_t before = -1, after = -1; ///< neighbours by index
    };

    struct Candidate {
        std::int32_t rank, left, leftId, rightId;
        bool operator<(const Candidate& other) const { // the least is on top of a heap
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };

    WordCache cache;
    std::vector<Symbol> symbols;
    std::vector<Merge> pairs; ///< merge of each symbol with the next one
    std::vector<Candidate> heap;
};

// Finds which token a single byte or character is, and what a whole piece is.
Bpe::Bpe(Vocabulary vocabulary, Settings settings, PairTable merges, std::vector<std::string> inner)
    : vocabulary_(std::move(vocabulary)), settings_(std::move(settings)), merges_(std::move(merges)),
      inner_(std::move(inner)) {
    bytes_.fill(-1);
    const auto& tokens = vocabulary_.tokens();
    for (std::size_t at = 0; at < tokens.size() + inner_.size(); ++at) {
        const std::string& token = at < tokens.size() ? tokens[at] : inner_[at - tokens.size()];
        const auto id = std::int32_t(at);
        if (token.empty() || (at < tokens.size() && vocabulary_.idOf(token) != id)) continue;
        if (settings_.spellsBytes && !isSpelling(token)) continue; // no piece has such a spelling
        const std::string bytes = settings_.spellsBytes ? bytesSpelledBy(token) : token;
        if (settings_.spellsBytes && bytes.size() == 1) bytes_[static_cast<unsigned char>(bytes[0])] = id;
        if (!settings_.spellsBytes)
            if (const int byte = byteOfToken(token); byte >= 0) bytes_[std::size_t(byte)] = id;
        if (const Character c = characterAt(token, 0); c.bytes == token.size() && !settings_.spellsBytes) {
            if (characters_.size() <= c.value) characters_.resize(c.value + 1, -1);
            characters_[c.value] = id;
        }
        if (settings_.ignoresMerges && at < tokens.size()) whole_.emplace(bytes, id);
    }
    unknown_ = settings_.unknown.empty() ? -1 : vocabulary_.idOf(settings_.unknown);
    cutsAtMarks_ = !settings_.spellsBytes && vocabulary_.idOf(kSpaceMark) >= 0;
    for (const std::string& token : tokens) {
        std::string_view rest = token;
        while (rest.starts_with(kSpaceMark)) rest.remove_prefix(kSpaceMark.size());
        if (rest.find(kSpaceMark) != std::string_view::npos) cutsAtMarks_ = false;
    }
}

std::unique_ptr<SubwordModel::Scratch> Bpe::scratch() const { return std::make_unique<Work>(); }

std::string Bpe::bytesOf(std::int32_t id) const {
    const std::string& text = vocabulary_.tokenOf(id);
    if (settings_.spellsBytes) return bytesSpelledBy(text);
    if (const int byte = byteOfToken(text); byte >= 0 && settings_.byteFallback) return {char(byte)};
    return unmarked(text);
}

/// The symbols that a piece begins with.
void Bpe::begin(std::string_view piece, Work& work) const {
    work.symbols.clear();
    const auto add = [&](std::int32_t id, std::uint32_t bytes) { work.symbols.push_back({id, bytes, -1, -1}); };
    if (settings_.spellsBytes) {
        for (const char c : piece)
            if (const std::int32_t id = bytes_[static_cast<unsigned char>(c)]; id >= 0)
                add(id, 1);
            else if (unknown_ >= 0)
                add(unknown_, 1);
        return;
    }
    bool wasUnknown = false;
    for (std::size_t at = 0; at < piece.size();) {
        const Character c = characterAt(piece, at);
        const std::string_view character = piece.substr(at, c.bytes);
        at += c.bytes;
        const std::int32_t id = c.value < characters_.size() ? characters_[c.value] : -1;
        const bool hasBytes = settings_.byteFallback && std::ranges::all_of(character, [&](char b) {
                                  return bytes_[static_cast<unsigned char>(b)] >= 0;
                              });
        const bool unknown = id < 0 && !hasBytes;
        if (id >= 0)
            add(id, c.bytes);
        else if (hasBytes)
            for (const char b : character) add(bytes_[static_cast<unsigned char>(b)], 1);
        else if (unknown_ >= 0 && settings_.fusesUnknown && wasUnknown)
            work.symbols.back().bytes += c.bytes;
        else if (unknown_ >= 0)
            add(unknown_, c.bytes);
        wasUnknown = unknown;
    }
}

/// Searches for the best pair anew after each merge: no heap for the few symbols of a word.
void Bpe::mergeFew(Work& work) const {
    auto& symbols = work.symbols;
    auto& pairs = work.pairs;
    const auto pairAt = [&](std::size_t i) {
        const Merge merge = merges_.find(symbols[i].id, symbols[i + 1].id);
        return merge.id < 0 ? Merge{kNoRank, -1} : merge;
    };
    pairs.resize(symbols.size());
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) pairs[i] = pairAt(i);
    std::size_t count = symbols.size();
    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i)
            if (pairs[i].rank < pairs[best].rank) best = i;
        if (pairs[best].id < 0) break;
        symbols[best].id = pairs[best].id;
        symbols[best].bytes += symbols[best + 1].bytes;
        for (std::size_t i = best + 1; i + 1 < count; ++i) symbols[i] = symbols[i + 1], pairs[i] = pairs[i + 1];
        --count;
        if (best + 1 < count) pairs[best] = pairAt(best);
        if (best > 0) pairs[best - 1] = pairAt(best - 1);
    }
    symbols.resize(count);
}

/// The same with a heap of pairs, for long pieces.
void Bpe::mergeMany(Work& work) const {
    auto& symbols = work.symbols;
    auto& heap = work.heap;
    heap.clear();
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        symbols[i].before = std::int32_t(i) - 1;
        symbols[i].after = i + 1 < symbols.size() ? std::int32_t(i) + 1 : -1;
    }
    const auto consider = [&](std::int32_t left) {
        if (left < 0 || symbols[std::size_t(left)].after < 0) return;
        const Work::Symbol& a = symbols[std::size_t(left)];
        const Work::Symbol& b = symbols[std::size_t(a.after)];
        const Merge merge = merges_.find(a.id, b.id);
        if (merge.id < 0) return;
        heap.push_back({merge.rank, left, a.id, b.id});
        std::push_heap(heap.begin(), heap.end());
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) consider(std::int32_t(i));
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end());
        const Work::Candidate best = heap.back();
        heap.pop_back();
        Work::Symbol& a = symbols[std::size_t(best.left)];
        if (a.id != best.leftId || a.after < 0 || symbols[std::size_t(a.after)].id != best.rightId)
            continue; // this pair has been merged meanwhile
        Work::Symbol& b = symbols[std::size_t(a.after)];
        a.id = merges_.find(best.leftId, best.rightId).id;
        a.bytes += b.bytes;
        b.id = -1;
        a.after = b.after;
        if (b.after >= 0) symbols[std::size_t(b.after)].before = best.left;
        consider(a.before);
        consider(best.left);
    }
    std::size_t kept = 0;
    for (std::int32_t i = symbols.empty() ? -1 : 0; i >= 0;) {
        const Work::Symbol symbol = symbols[std::size_t(i)];
        symbols[kept++] = symbol;
        i = symbol.after;
    }
    symbols.resize(kept);
}

void Bpe::encodePart(std::string_view part, Work& work, std::vector<Token>& into) const {
    const bool keeps = part.size() <= WordCache::kLongest;
    const std::uint64_t hash = keeps ? WordCache::hashOf(part) : 0;
    if (keeps)
        if (const auto known = work.cache.find(part, hash); !known.empty()) {
            into.insert(into.end(), known.begin(), known.end());
            return;
        }
    begin(part, work);
    if (work.symbols.size() <= kFew)
        mergeFew(work);
    else
        mergeMany(work);
    const std::size_t first = into.size();
    for (const Work::Symbol& symbol : work.symbols) {
        if (symbol.id < vocabulary_.size()) {
            into.push_back({symbol.id, symbol.bytes});
            continue;
        }
        // This character is not a token and was not merged.
        for (const char c : inner_[std::size_t(symbol.id - vocabulary_.size())])
            if (const auto byte = bytes_[static_cast<unsigned char>(c)]; settings_.byteFallback && byte >= 0)
                into.push_back({byte, 1});
            else if (unknown_ >= 0)
                into.push_back({unknown_, 1});
    }
    if (keeps) work.cache.remember(part, hash, std::span(into).subspan(first));
}

/// The end of a part that no merge leaves: before a mark of a space behind another character.
std::size_t Bpe::partEnd(std::string_view piece, std::size_t begin) const {
    if (!cutsAtMarks_) return piece.size();
    std::size_t at = begin;
    while (piece.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
    return std::min(piece.find(kSpaceMark, at), piece.size());
}

void Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<Token>& into) const {
    if (piece.empty()) return;
    if (settings_.ignoresMerges && piece.size() <= WordCache::kLongest * 16)
        if (const auto whole = whole_.find(std::string(piece)); whole != whole_.end())
            return into.push_back({whole->second, std::uint32_t(piece.size())});
    auto& work = static_cast<Work&>(scratch);
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t end = partEnd(piece, at);
        encodePart(piece.substr(at, end - at), work, into);
        at = end;
    }
}

} // namespace qs::eval
