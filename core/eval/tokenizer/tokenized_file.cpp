// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/tokenized_file.h"

#include "core/analysis/analysis_report.h"
#include "core/base/cell.h"
#include "core/base/text.h"
#include "core/eval/tokenizer/text_file.h"
#include "core/model/model.h"
#include "core/model/output/atomic_file.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace qs::eval {
namespace {

/// A .npy file of version 1: magic, length of the header, the header padded to 64 bytes, the numbers.
std::string npyOf(const std::vector<PlacedToken>& tokens) {
    static_assert(std::endian::native == std::endian::little);
    std::string header = fmt::format("{{'descr': '<i4', 'fortran_order': False, 'shape': ({},), }}", tokens.size());
    constexpr std::size_t kBefore = 10, kAlignment = 64;
    header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
    header += '\n';
    std::string out("\x93NUMPY\x01\x00", 8);
    out += {char(header.size() & 0xFF), char(header.size() >> 8)};
    out += header;
    const std::size_t begin = out.size();
    out.resize(begin + 4 * tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) std::memcpy(out.data() + begin + 4 * i, &tokens[i].id, 4);
    return out;
}

} // namespace

Result<TokenizedFile> tokenizeFile(const Model& model, const std::string& path, const Job& job) {
    TokenizedFile out;
    auto tokenizer = tokenizerOf(model);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    Result<std::vector<PlacedToken>> tokens;
    auto hash = readText(path, job, [&](std::string_view text) -> Result<void> {
        out.bytes = text.size();
        tokens = (*tokenizer)->encodePlaced(text, job);
        return tokens ? Result<void>() : tl::unexpected(tokens.error());
    });
    if (!hash) return tl::unexpected(hash.error());
    std::set<std::int32_t> distinct;
    for (const PlacedToken& token : *tokens) distinct.insert(token.id);
    out.path = path, out.sha256 = std::move(*hash), out.tokenizer = (*tokenizer)->path();
    out.vocabulary = (*tokenizer)->size(), out.distinct = std::int64_t(distinct.size());
    out.tokens = std::move(*tokens), out.made = std::move(*tokenizer);
    return out;
}

Columns<TokenRow> tokenColumns() {
    using Row = TokenRow;
    constexpr auto none = Direction::None;
    return {
        columnOf<Row>({"index", "Token", "", Show::Integer, 2, none, "Place among the tokens, from 0"}, &Row::index),
        columnOf<Row>({"id", "Id", "", Show::Integer, 2, none, "Row of the embedding"},
                      [](const Row& row) { return row.token.id; }),
        columnOf<Row>({"piece", "Piece", "", Show::Text, 2, none, "The token as the vocabulary spells it"},
                      [](const Row& row) { return escapeForPeople(row.piece); }),
        columnOf<Row>(
            {"begin", "Begin", "", Show::Integer, 2, none, "First byte of the text that the token comes from"},
            [](const Row& row) { return row.token.begin; }),
        columnOf<Row>({"end", "End", "", Show::Integer, 2, none,
                       "The byte behind the last one; equal to begin where the token comes from no text"},
                      [](const Row& row) { return row.token.end; }),
    };
}

std::vector<TokenRow> tokenRows(const TokenizedFile& file, std::size_t most) {
    std::vector<TokenRow> rows;
    for (std::size_t i = 0; i < file.tokens.size() && i < most; ++i)
        rows.push_back({std::int64_t(i), file.tokens[i], file.made->pieceOf(file.tokens[i].id)});
    return rows;
}

std::string summaryOf(const TokenizedFile& file) {
    const auto count = file.tokens.size();
    std::string out = fmt::format("{} tokens ({} different of {} ids) for {} bytes", count, file.distinct,
                                  file.vocabulary, file.bytes);
    if (count > 0) out += fmt::format(": {} bytes a token", fixedText(double(file.bytes) / double(count), 2));
    return out + ".";
}

Result<Report> tokensReport(const Model& model, const TokenizedFile& file, const std::string& commandLine,
                            const Job& job) {
    auto provenance = modelProvenance(model, "", commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    provenance->emplace_back("text_file", file.path);
    provenance->emplace_back("text_sha256", file.sha256);
    provenance->emplace_back("text_bytes", std::to_string(file.bytes));
    provenance->emplace_back("tokenizer", file.tokenizer);
    provenance->emplace_back("vocabulary", std::to_string(file.vocabulary));
    provenance->emplace_back("tokens", std::to_string(file.tokens.size()));
    Report report;
    report.title = model.title;
    report.subtitle = summaryOf(file);
    report.provenance = std::move(*provenance);
    report.data = makeTable({}, tokenColumns(), tokenRows(file, file.tokens.size()));
    Section section;
    section.title = "Tokens";
    section.tables.push_back(report.data);
    section.tables.front().title = "Tokens";
    report.sections.push_back(std::move(section));
    return report;
}

Result<void> writeTokens(const std::string& path, const std::vector<PlacedToken>& tokens, Replace replace) {
    if (path.ends_with(".npy")) return writeWholeFile(path, npyOf(tokens), replace);
    std::string text;
    for (const PlacedToken& token : tokens) text += std::to_string(token.id) + "\n";
    return writeWholeFile(path, text, replace);
}

} // namespace qs::eval
