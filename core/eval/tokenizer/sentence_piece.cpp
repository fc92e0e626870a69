// SPDX-License-Identifier: GPL-3.0-or-later
// tokenizer.model of SentencePiece (sentencepiece_model.proto): pieces with scores, the type of the model, the normalizer.
#include "core/base/lists.h"
#include "core/base/strict_json.h"
#include "core/base/text.h"
#include "core/eval/tokenizer/bpe_read.h"
#include "core/eval/tokenizer/charsmap.h"
#include "core/eval/tokenizer/pipeline.h"
#include "core/eval/tokenizer/proto_reader.h"
#include "core/eval/tokenizer/sources.h"
#include "core/eval/tokenizer/unigram.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

enum PieceType : std::uint64_t { kNormalPiece = 1, kUnknownPiece, kControlPiece, kUserPiece, kUnusedPiece, kBytePiece };

struct PieceModel {
    std::vector<std::string> pieces;
    std::vector<float> scores;
    std::vector<std::uint64_t> types;
    std::uint64_t type = 1; ///< 1: Unigram, 2: BPE, 3: words, 4: characters
    bool byteFallback = false, suffixed = false, hasTrainer = false;
    bool addsSpace = true, removesSpaces = true, escapes = true;
    std::string charsmap;

    std::int32_t idOf(PieceType wanted) const {
        const auto found = std::find(types.begin(), types.end(), std::uint64_t(wanted));
        return found == types.end() ? -1 : std::int32_t(found - types.begin());
    }
    std::int32_t idOf(std::string_view text) const {
        const auto found = std::find(pieces.begin(), pieces.end(), text);
        return found == pieces.end() ? -1 : std::int32_t(found - pieces.begin());
    }
};

Result<void> readPiece(std::string_view message, PieceModel& into) {
    ProtoReader field(message);
    std::string text;
    float score = 0;
    std::uint64_t type = kNormalPiece;
    while (field.next()) {
        if (field.number() == 1 && field.isBytes()) text = field.bytes();
        if (field.number() == 2 && field.isFloat()) score = field.real();
        if (field.number() == 3 && field.isNumber()) type = field.value();
    }
    if (field.damaged() || invalidUtf8(text) != std::string_view::npos || !std::isfinite(score))
        return fail(fmt::format("has a damaged piece {}", into.pieces.size()));
    if (into.pieces.size() == std::size_t(kMostIds)) return fail("has too many pieces");
    into.pieces.push_back(std::move(text)), into.scores.push_back(score), into.types.push_back(type);
    return {};
}

void readTrainer(std::string_view message, PieceModel& into) {
    for (ProtoReader field(message); field.next();) {
        if (field.number() == 3) into.type = field.value();
        if (field.number() == 24) into.suffixed = field.value() != 0;
        if (field.number() == 35) into.byteFallback = field.value() != 0;
    }
}

void readSpec(std::string_view message, PieceModel& into) {
    for (ProtoReader field(message); field.next();) {
        if (field.number() == 2) into.charsmap = field.bytes();
        if (field.number() == 3) into.addsSpace = field.value() != 0;
        if (field.number() == 4) into.removesSpaces = field.value() != 0;
        if (field.number() == 5) into.escapes = field.value() != 0;
    }
}

Result<PieceModel> readPieceModel(std::string_view bytes) {
    PieceModel out;
    ProtoReader field(bytes);
    while (field.next()) {
        if (!field.isBytes()) continue;
        if (field.number() == 1)
            if (auto read = readPiece(field.bytes(), out); !read) return tl::unexpected(read.error());
        if (field.number() == 2) readTrainer(field.bytes(), out);
        if (field.number() == 3) readSpec(field.bytes(), out);
    }
    if (field.damaged() || out.pieces.empty())
        return fail("is no SentencePiece model: it is cut short or has no pieces");
    if (out.suffixed) return fail("puts spaces behind words (treat_whitespace_as_suffix), which is not known");
    if (!out.escapes) return fail("does not mark spaces (escape_whitespaces is false), which is not known");
    if (contains(out.types, std::uint64_t(kUnusedPiece)) && out.type == 2)
        return fail("has unused pieces in a BPE model, which is not known");
    return out;
}

/// Spaces at both ends go, and several are one.
void removeSpaces(std::string_view text, bool, Rewriter& into) {
    bool any = false, space = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == ' ') {
            space = any;
            continue;
        }
        if (space) into.put(" ", at - 1, at);
        into.keep(at, at + 1);
        any = true, space = false;
    }
}

Result<void> readNormalizers(const PieceModel& model, TokenizerParts& into) {
    if (!model.charsmap.empty()) {
        auto map = Charsmap::read(model.charsmap);
        if (!map) return tl::unexpected(map.error());
        into.normalizers.push_back([map = std::make_shared<const Charsmap>(std::move(*map))](
                                       std::string_view text, bool, Rewriter& out) { map->byLongest(text, out); });
    }
    if (model.removesSpaces) into.normalizers.push_back(removeSpaces);
    if (model.addsSpace)
        if (auto read = readNormalizer({{"type", "Prepend"}, {"prepend", kSpaceMark}}, into.normalizers); !read)
            return read;
    return readNormalizer({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceMark}},
                          into.normalizers);
}

Result<SubwordModelPtr> readUnigramPieces(const PieceModel& model) {
    std::vector<double> scores(model.scores.begin(), model.scores.end());
    const float most = *std::ranges::max_element(model.scores);
    for (std::size_t id = 0; id < scores.size(); ++id) {
        if (model.types[id] == kUserPiece) // always better than its parts
            scores[id] = double(model.pieces[id].size()) * double(most) - 0.1;
        else if (model.types[id] != kNormalPiece)
            scores[id] = std::numeric_limits<double>::quiet_NaN();
    }
    return Unigram::with(Vocabulary::of(model.pieces), {model.idOf(kUnknownPiece), model.byteFallback},
                         std::move(scores));
}

Result<SubwordModelPtr> readScoredPieces(const PieceModel& model) {
    Bpe::Settings settings;
    settings.byteFallback = model.byteFallback;
    settings.fusesUnknown = true;
    if (const auto id = model.idOf(kUnknownPiece); id >= 0) settings.unknown = model.pieces[std::size_t(id)];
    std::vector<float> scores = model.scores;
    for (std::size_t id = 0; id < scores.size(); ++id)
        if (model.types[id] != kNormalPiece) scores[id] = std::numeric_limits<float>::quiet_NaN();
    return bpeWithScores(Vocabulary::of(model.pieces), settings, scores);
}

struct PieceModelRow {
    std::uint64_t type;
    Result<SubwordModelPtr> (*read)(const PieceModel& model);
};
constexpr PieceModelRow kPieceModels[] = {{1, readUnigramPieces}, {2, readScoredPieces}};

Result<TokenizerParts> readPieceParts(const PieceModel& model, bool addsBegin, bool addsEnd) {
    TokenizerParts parts;
    if (auto read = readNormalizers(model, parts); !read) return tl::unexpected(read.error());
    for (std::size_t id = 0; id < model.pieces.size(); ++id)
        if (model.types[id] == kUserPiece && !model.pieces[id].empty())
            parts.normalized.add({model.pieces[id], std::int32_t(id), false, false, false, true});
    parts.size = std::int32_t(model.pieces.size());
    for (const PieceModelRow& row : kPieceModels) {
        if (row.type != model.type) continue;
        auto read = row.read(model);
        if (!read) return tl::unexpected(read.error());
        parts.model = std::move(*read);
    }
    if (!parts.model) return fail(fmt::format("has a model of type {}; known are Unigram (1) and BPE (2)", model.type));
    const auto put = [&](bool wanted, std::string_view text, std::vector<std::int32_t>& into) {
        const std::int32_t id = model.idOf(text);
        if (wanted && id >= 0 && model.types[std::size_t(id)] == kControlPiece) into.push_back(id);
    };
    put(addsBegin, "<s>", parts.frame.before);
    if (parts.frame.before.empty()) put(addsBegin, "<bos>", parts.frame.before);
    put(addsEnd, "</s>", parts.frame.after);
    if (parts.frame.after.empty()) put(addsEnd, "<eos>", parts.frame.after);
    return parts;
}

} // namespace

Result<std::shared_ptr<const Tokenizer>> parseSentencePiece(std::string_view bytes, const std::string& path,
                                                            bool addsBegin, bool addsEnd) {
    const auto named = [&](const Error& error) {
        return fail(fmt::format("{} {}.", shownPath(path), error.message), path);
    };
    const auto model = readPieceModel(bytes);
    if (!model) return named(model.error());
    auto parts = readPieceParts(*model, addsBegin, addsEnd);
    if (!parts) return named(parts.error());
    parts->path = path;
    return makeTokenizer(std::move(*parts));
}

} // namespace qs::eval
