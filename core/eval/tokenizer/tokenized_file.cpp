// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/tokenized_file.h"

#include "core/analysis/analysis_report.h"
#include "core/base/text.h"
#include "core/model/mapped_file.h"
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

Column<TokenRow> wholeColumn(const char* id, const char* title, const char* tip,
                             std::function<std::int64_t(const TokenRow&)> value) {
    Column<TokenRow> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Integer;
    column.value = [value](const TokenRow& row) { return Value(value(row)); };
    return column;
}

} // namespace

Result<TokenizedFile> tokenizeFile(const Model& model, const std::string& path, const Job& job) {
    TokenizedFile out;
    auto tokenizer = tokenizerOf(model);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    const auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    std::vector<std::byte> scratch;
    const auto bytes = (*file)->read(0, (*file)->size(), scratch);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.ends_with('\n')) text.remove_suffix(1);
    auto tokens = (*tokenizer)->encodePlaced(text, job);
    if (!tokens && !tokens.error().cancelled)
        return fail(fmt::format("{}: {}", escapeForPeople(path, 200), tokens.error().message), path);
    if (!tokens) return tl::unexpected(tokens.error());
    auto hash = sha256OfFile(path, job);
    if (!hash) return tl::unexpected(hash.error());
    std::set<std::int32_t> distinct;
    for (const PlacedToken& token : *tokens) distinct.insert(token.id);
    out.path = path, out.sha256 = std::move(*hash), out.tokenizer = (*tokenizer)->path(), out.bytes = text.size();
    out.vocabulary = (*tokenizer)->size(), out.distinct = std::int64_t(distinct.size());
    out.tokens = std::move(*tokens), out.made = std::move(*tokenizer);
    return out;
}

Columns<TokenRow> tokenColumns() {
    Columns<TokenRow> out;
    out.push_back(
        wholeColumn("index", "Token", "Place among the tokens, from 0", [](const TokenRow& row) { return row.index; }));
    out.push_back(wholeColumn("id", "Id", "Row of the embedding",
                              [](const TokenRow& row) { return std::int64_t(row.token.id); }));
    Column<TokenRow> piece;
    piece.id = "piece", piece.title = "Piece", piece.tip = "The token as the vocabulary spells it";
    piece.value = [](const TokenRow& row) { return Value(escapeForPeople(row.piece)); };
    out.push_back(std::move(piece));
    out.push_back(wholeColumn("begin", "Begin", "First byte of the text that the token comes from",
                              [](const TokenRow& row) { return std::int64_t(row.token.begin); }));
    out.push_back(wholeColumn("end", "End",
                              "The byte behind the last one; equal to begin where the token comes from no text",
                              [](const TokenRow& row) { return std::int64_t(row.token.end); }));
    return out;
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

Result<void> writeTokens(const std::string& path, const std::vector<PlacedToken>& tokens) {
    if (path.ends_with(".npy")) return writeWholeFile(path, npyOf(tokens));
    std::string text;
    for (const PlacedToken& token : tokens) text += std::to_string(token.id) + "\n";
    return writeWholeFile(path, text);
}

} // namespace qs::eval
