// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text file as tokens with their places, for people: rows, a summary, files of ids.

#include "core/base/column.h"
#include "core/eval/tokenizer/tokenizer.h"
#include "core/model/output/atomic_file.h"
#include "core/report/report.h"

namespace qs::eval {

struct TokenizedFile {
    std::string path, sha256;    ///< path and SHA-256 of the text file
    std::string tokenizer;       ///< path of the file that holds the tokenizer
    std::uint64_t bytes = 0;     ///< size of the text, without one newline at its end
    std::int32_t vocabulary = 0; ///< number of ids
    std::int64_t distinct = 0;   ///< different ids among the tokens
    std::vector<PlacedToken> tokens;
    std::shared_ptr<const Tokenizer> made;
};

/// Reads a text in UTF-8 with the model's own tokenizer. One newline at its end is ignored, as in llama.cpp.
Result<TokenizedFile> tokenizeFile(const Model& model, const std::string& path, const Job& job);

struct TokenRow {
    std::int64_t index = 0;
    PlacedToken token;
    std::string piece; ///< spelling in the vocabulary
};
Columns<TokenRow> tokenColumns();
/// At most `most` rows.
std::vector<TokenRow> tokenRows(const TokenizedFile& file, std::size_t most);
/// "1,234 tokens (87 different of 32,000 ids) for 5,678 bytes: 4.60 bytes a token."
std::string summaryOf(const TokenizedFile& file);
Result<Report> tokensReport(const Model& model, const TokenizedFile& file, const std::string& commandLine,
                            const Job& job);

/// Writes the ids: an array of i32 if the path ends with .npy, else one number per line.
Result<void> writeTokens(const std::string& path, const std::vector<PlacedToken>& tokens,
                         Replace replace = Replace::Any);

} // namespace qs::eval
