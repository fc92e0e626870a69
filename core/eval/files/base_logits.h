// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The base-logits file of llama.cpp (`llama-perplexity --save-all-logits F`, `--kl-divergence-base F`): the
// log-probabilities of a reference in the second half of every chunk, in 16 bits for each token of the vocabulary.
// Little-endian:
//   char[8] "_logits_"; int32 tokens of a chunk, vocabulary, chunks; int32 tokens[chunks * context], as they are in the
//   text; then for each scored token a row: f32 scale, f32 least, uint16 code of every token, one more where their
//   number is odd. ln p = scale * code + least.
// The writer of llama.cpp cuts 16 nats below the largest, that of ik_llama.cpp 24, under the same magic: there code 0
// is a floor and no value.

#include "core/base/job.h"
#include "core/model/mapped_file.h"
#include "core/model/output/atomic_file.h"

#include <memory>
#include <optional>
#include <string>

namespace qs::eval {

/// Number of uint16 words in a row.
constexpr std::size_t baseRowWords(std::size_t vocabulary) { return 2 * ((vocabulary + 1) / 2) + 4; }
/// Encodes finite logits exactly as llama.cpp does, bit for bit. `row` has baseRowWords() words.
void encodeBaseRow(std::span<const float> logits, std::span<std::uint16_t> row);
/// Decodes ln p to f32, as llama.cpp reads it. If code 0 is a floor, it becomes minus infinity, except for `next`.
void decodeBaseRow(std::span<const std::uint16_t> row, std::int32_t next, std::span<float> logProbabilities);

struct BaseHeader {
    std::size_t context = 0, vocabulary = 0, chunks = 0;
    std::size_t rowsOfChunk() const { return context - 1 - context / 2; }
};

/// True if the file begins with the magic of such files.
bool looksLikeBase(const std::string& path);

class BaseFile {
public:
    /// Errors name the file. It is not such a file, its sizes are impossible, or its length does not fit its sizes.
    static Result<BaseFile> open(const std::string& path);
    static Result<BaseFile> of(std::shared_ptr<MappedFile> file);
    const BaseHeader& header() const { return header_; }
    const std::string& path() const { return file_->path(); }
    std::vector<std::int32_t> tokens() const; ///< [chunks * context]
    /// Reads ln p of `count` scored tokens from `row` on, in the order of the text. Errors: the rows lie beyond the
    /// file, scale or least of a row are not finite, or the file has changed.
    Result<void> read(std::size_t row, std::size_t count, std::span<float> logProbabilities) const;

private:
    std::int32_t token(std::size_t index) const;
    std::shared_ptr<MappedFile> file_;
    BaseHeader header_;
};

/// Writes such a file row by row. The file exists only after finish().
class BaseWriter {
public:
    static Result<BaseWriter> create(const std::string& path, const BaseHeader& header,
                                     std::span<const std::int32_t> tokens, Replace replace = Replace::Any);
    /// Adds the logits of the next scored tokens, [rows, vocabulary]. Error: a logit is not finite.
    Result<void> add(std::span<const float> logits);
    /// Gives the file its name. Error: rows are missing.
    Result<void> finish(const Job& job);

private:
    BaseWriter(AtomicFile file, BaseHeader header) : file_(std::move(file)), header_(header) {}
    AtomicFile file_;
    BaseHeader header_;
    std::size_t rows_ = 0;
};

} // namespace qs::eval
