// SPDX-License-Identifier: GPL-3.0-or-later
// The vocabulary of a GGUF file. The rules are those of llama.cpp (src/llama-vocab.cpp).
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/eval/tokenizer/bpe_read.h"
#include "core/eval/tokenizer/gguf_cuts.h"
#include "core/eval/tokenizer/gguf_keys.h"
#include "core/eval/tokenizer/pipeline.h"
#include "core/eval/tokenizer/sources.h"
#include "core/eval/tokenizer/splitter.h"
#include "core/eval/tokenizer/word_piece.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

enum TokenType : std::int32_t { kUnknownToken = 2, kControlToken = 3, kUserDefinedToken = 4 };

std::vector<std::pair<std::string, std::string>> mergesOf(const GgufKeys& keys) {
    std::vector<std::pair<std::string, std::string>> out;
    out.reserve(keys.merges.size());
    for (const std::string& merge : keys.merges) {
        const std::size_t space = merge.empty() ? std::string::npos : merge.find(' ', 1);
        const bool pair = space != std::string::npos;
        out.emplace_back(merge.substr(0, pair ? space : 0), pair ? merge.substr(space + 1) : std::string());
    }
    return out;
}

Result<void> readBytePairs(GgufKeys& keys, TokenizerParts& into) {
    const auto row = ggufCutsOf(keys.pre);
    if (!row) return tl::unexpected(row.error());
    into.cuts.spellsBytes = true;
    for (const char* cut : (*row)->cuts) {
        const Splitter* known = findSplitter(cut);
        auto pattern = regexPattern(known ? known->expression : cut);
        if (!pattern) return tl::unexpected(pattern.error());
        into.cuts.steps.push_back({std::move(*pattern), false, Behavior::Isolated, {}});
    }
    Bpe::Settings settings;
    settings.spellsBytes = true;
    settings.ignoresMerges = (*row)->ignoresMerges;
    auto model = bpeWithMerges(Vocabulary::of(std::move(keys.tokens)), settings, mergesOf(keys));
    if (!model) return tl::unexpected(model.error());
    into.model = std::move(*model);
    if (!keys.addsBegin) keys.addsBegin = (*row)->addsBegin;
    return {};
}

Result<void> readScored(GgufKeys& keys, TokenizerParts& into) {
    if (keys.scores.empty()) return fail("has no scores (tokenizer.ggml.scores)");
    if (keys.addsSpace.value_or(true))
        if (auto read = readNormalizer({{"type", "Prepend"}, {"prepend", kSpaceMark}}, into.normalizers); !read)
            return read;
    const json marks = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceMark}};
    if (auto read = readNormalizer(marks, into.normalizers); !read) return read;
    Bpe::Settings settings;
    settings.byteFallback = true;
    if (keys.unknown) settings.unknown = keys.tokens[std::size_t(*keys.unknown)];
    auto model = bpeWithScores(Vocabulary::of(std::move(keys.tokens)), settings, keys.scores);
    if (!model) return tl::unexpected(model.error());
    into.model = std::move(*model);
    if (!keys.addsBegin) keys.addsBegin = true;
    return {};
}

Result<void> readWordPieces(GgufKeys& keys, TokenizerParts& into) {
    const json normalizer = {{"type", "BertNormalizer"}, {"lowercase", keys.lowercase.value_or(true)}};
    if (auto read = readNormalizer(normalizer, into.normalizers); !read) return read;
    if (auto read = readPreTokenizer({{"type", "BertPreTokenizer"}}, into.cuts); !read) return read;
    WordPiece::Settings settings;
    settings.inside = "", settings.begin = kSpaceMark;
    if (keys.unknown) settings.unknown = keys.tokens[std::size_t(*keys.unknown)];
    auto model = WordPiece::with(Vocabulary::of(std::move(keys.tokens)), settings);
    if (!model) return tl::unexpected(model.error());
    into.model = std::move(*model);
    const auto idOf = [&](const char* token) { return std::int64_t(into.model->vocabulary().idOf(token)); };
    if (!keys.begin && idOf("[CLS]") >= 0) keys.begin = idOf("[CLS]");
    if (!keys.separator && idOf("[SEP]") >= 0) keys.separator = idOf("[SEP]");
    keys.end = keys.separator, keys.addsEnd = keys.separator.has_value();
    if (!keys.addsBegin) keys.addsBegin = keys.begin.has_value();
    return {};
}

/// The readers, by the value of tokenizer.ggml.model.
struct GgufModelRow {
    const char* id;
    Result<void> (*read)(GgufKeys& keys, TokenizerParts& into); ///< may move the tokens away
};
constexpr GgufModelRow kGgufModels[] = {{"bert", readWordPieces}, {"gpt2", readBytePairs}, {"llama", readScored}};

Result<TokenizerParts> readGgufParts(GgufKeys keys) {
    TokenizerParts parts;
    for (std::size_t id = 0; id < keys.types.size(); ++id)
        if (keys.types[id] == kUserDefinedToken && !keys.tokens[id].empty())
            parts.raw.add({keys.tokens[id], std::int32_t(id), false, false, false, false});
    parts.size = std::int32_t(keys.tokens.size());
    std::string known;
    for (const GgufModelRow& row : kGgufModels) {
        known += (known.empty() ? "" : ", ") + std::string(row.id);
        if (keys.model != row.id) continue;
        if (auto read = row.read(keys, parts); !read) return tl::unexpected(read.error());
        if (keys.addsBegin.value_or(false)) {
            if (!keys.begin)
                return fail("puts a token before a text (tokenizer.ggml.add_bos_token) and does not say which");
            parts.frame.before.push_back(std::int32_t(*keys.begin));
        }
        if (keys.addsEnd.value_or(false) && keys.end) parts.frame.after.push_back(std::int32_t(*keys.end));
        return parts;
    }
    return fail(fmt::format("has a vocabulary of type {} (tokenizer.ggml.model), which is not known; known are {}",
                            quotedName(keys.model), known));
}

} // namespace

Result<std::shared_ptr<const Tokenizer>> parseGgufTokenizer(std::span<const std::byte> head, const std::string& path) {
    const auto named = [&](const Error& error) {
        return fail(fmt::format("{} {}.", shownPath(path), error.message), path);
    };
    auto keys = readGgufKeys(head);
    if (!keys) return named(keys.error());
    auto parts = readGgufParts(std::move(*keys));
    if (!parts) return named(parts.error());
    parts->path = path;
    return makeTokenizer(std::move(*parts));
}

} // namespace qs::eval
