// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/files/base_logits.h"

#include "core/base/parallel.h"
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace qs::eval {
namespace {

constexpr std::string_view kMagic = "_logits_";
constexpr std::size_t kHeaderBytes = 20;
constexpr float kCut = 16.0f;        ///< code 0 is this many nats below the largest logit
constexpr float kLeastRange = 15.9f; ///< nats; a row with at least this range may have been cut
constexpr std::size_t kMostSize = std::size_t(1) << 24;

tl::unexpected<Error> refuseBase(const std::string& path, const std::string& why) {
    return fail(fmt::format("{} is no base-logits file of llama.cpp that can be read: {}.", shownPath(path), why),
                path);
}

/// Rounds a value from 0 to 65535 to the nearest integer, half to even.
std::uint16_t nearestCode(float value) { return std::uint16_t(std::lrintf(value)); }

struct RowScale {
    float scale = 0, least = 0;
};
RowScale scaleOf(std::span<const std::uint16_t> row) {
    RowScale out;
    std::memcpy(&out.scale, row.data(), sizeof out.scale);
    std::memcpy(&out.least, row.data() + 2, sizeof out.least);
    return out;
}

} // namespace

void encodeBaseRow(std::span<const float> logits, std::span<std::uint16_t> row) {
    const float largest = *std::ranges::max_element(logits);
    const float least = std::max(*std::ranges::min_element(logits), largest - kCut);
    double sum = 0;
    for (const float logit : logits) sum += double(std::exp(logit - largest));
    const auto logSum = float(std::log(sum));
    const RowScale head{(largest - least) / 65535.0f, least - largest - logSum};
    std::memcpy(row.data(), &head.scale, sizeof head.scale);
    std::memcpy(row.data() + 2, &head.least, sizeof head.least);
    const auto codes = row.subspan(4);
    std::fill(codes.begin(), codes.end(), std::uint16_t(0));
    if (head.scale == 0.0f) return;
    const float inverse = 1.0f / head.scale;
    for (std::size_t v = 0; v < logits.size(); ++v)
        if (logits[v] > least) codes[v] = nearestCode(inverse * (logits[v] - least));
}

void decodeBaseRow(std::span<const std::uint16_t> row, std::int32_t next, std::span<float> logProbabilities) {
    const RowScale head = scaleOf(row);
    const bool cut = head.scale * 65535.0f > kLeastRange;
    for (std::size_t v = 0; v < logProbabilities.size(); ++v) {
        const std::uint16_t code = row[4 + v];
        logProbabilities[v] = cut && code == 0 && v != std::size_t(next) ? -std::numeric_limits<float>::infinity()
                                                                         : head.scale * float(code) + head.least;
    }
}

bool looksLikeBase(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file || (*file)->size() < kMagic.size()) return false;
    std::vector<std::byte> scratch;
    const auto head = (*file)->read(0, kMagic.size(), scratch);
    return head.size() == kMagic.size() && std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<BaseFile> BaseFile::open(const std::string& path) {
    auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    return of(std::move(*file));
}

Result<BaseFile> BaseFile::of(std::shared_ptr<MappedFile> file) {
    const std::string& path = file->path();
    std::array<std::byte, kHeaderBytes> head{};
    if (file->size() < kHeaderBytes) return refuseBase(path, "it is shorter than its header");
    file->readInto(0, head);
    if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0)
        return refuseBase(path, "it does not begin with _logits_");
    std::array<std::int32_t, 3> sizes{};
    std::memcpy(sizes.data(), head.data() + kMagic.size(), sizeof sizes);
    for (const std::int32_t size : sizes)
        if (size < 1 || std::size_t(size) > kMostSize)
            return refuseBase(path, fmt::format("it says {} tokens of context, {} of vocabulary and {} chunks",
                                                sizes[0], sizes[1], sizes[2]));
    BaseFile out;
    out.header_ = {std::size_t(sizes[0]), std::size_t(sizes[1]), std::size_t(sizes[2])};
    if (out.header_.context < 3) return refuseBase(path, "its context has fewer than 3 tokens, so none is scored");
    // Sizes are at most 2^24: the bytes of a chunk fit 64 bits, those of all chunks may not.
    const std::size_t ofChunk =
        4 * out.header_.context + 2 * out.header_.rowsOfChunk() * baseRowWords(out.header_.vocabulary);
    const std::size_t rest = file->size() - kHeaderBytes;
    if (rest / ofChunk != out.header_.chunks || rest % ofChunk != 0)
        return refuseBase(path,
                          fmt::format("{} chunks of {} tokens over a vocabulary of {} do not take its {} bytes",
                                      out.header_.chunks, out.header_.context, out.header_.vocabulary, file->size()));
    out.file_ = std::move(file);
    for (std::size_t i = 0; i < out.header_.chunks * out.header_.context; ++i)
        if (const std::int32_t token = out.token(i); token < 0 || std::size_t(token) >= out.header_.vocabulary)
            return refuseBase(out.path(), fmt::format("its token {} is {}, outside of its vocabulary of {}", i + 1,
                                                      token, out.header_.vocabulary));
    return out;
}

std::int32_t BaseFile::token(std::size_t index) const {
    std::int32_t out = 0;
    file_->readInto(kHeaderBytes + index * sizeof out, std::as_writable_bytes(std::span(&out, 1)));
    return out;
}

std::vector<std::int32_t> BaseFile::tokens() const {
    std::vector<std::int32_t> out(header_.chunks * header_.context);
    file_->readInto(kHeaderBytes, std::as_writable_bytes(std::span(out)));
    return out;
}

Result<void> BaseFile::read(std::size_t row, std::size_t count, std::span<float> logProbabilities) const {
    const std::size_t ofChunk = header_.rowsOfChunk(), words = baseRowWords(header_.vocabulary);
    if (row + count > header_.chunks * ofChunk)
        return fail(fmt::format("{} has {} scored tokens; the text needs more: use --chunks {} at most.",
                                shownPath(path()), header_.chunks * ofChunk, header_.chunks),
                    path());
    const std::size_t begin = kHeaderBytes + 4 * header_.chunks * header_.context;
    std::vector<std::uint16_t> codes(count * words);
    file_->readInto(begin + row * words * 2, std::as_writable_bytes(std::span(codes)));
    if (auto same = file_->unchanged(); !same) return same;
    for (std::size_t i = 0; i < count; ++i) {
        const RowScale head = scaleOf(std::span(codes).subspan(i * words, words));
        if (!std::isfinite(head.scale) || !std::isfinite(head.least) || head.scale < 0 ||
            !std::isfinite(head.scale * 65535.0f + head.least))
            return refuseBase(path(), fmt::format("row {} has a scale or a least value that is none", row + i + 1));
    }
    parallelFor(count, 1, [&](std::size_t from, std::size_t to, unsigned) {
        for (std::size_t i = from; i < to; ++i) {
            const std::size_t scored = row + i;
            const std::size_t input = scored / ofChunk * header_.context + header_.context / 2 + scored % ofChunk;
            decodeBaseRow(std::span(codes).subspan(i * words, words), token(input + 1),
                          logProbabilities.subspan(i * header_.vocabulary, header_.vocabulary));
        }
    });
    return {};
}

Result<BaseWriter> BaseWriter::create(const std::string& path, const BaseHeader& header,
                                      std::span<const std::int32_t> tokens, Replace replace) {
    const std::size_t rows = header.chunks * header.rowsOfChunk();
    auto file = AtomicFile::create(path, kHeaderBytes + 4 * tokens.size() + 2 * rows * baseRowWords(header.vocabulary),
                                   replace);
    if (!file) return tl::unexpected(file.error());
    const std::int32_t sizes[] = {std::int32_t(header.context), std::int32_t(header.vocabulary),
                                  std::int32_t(header.chunks)};
    if (auto done = file->write(kMagic); !done) return tl::unexpected(done.error());
    if (auto done = file->write(std::as_bytes(std::span<const std::int32_t>(sizes))); !done)
        return tl::unexpected(done.error());
    if (auto done = file->write(std::as_bytes(tokens.first(header.chunks * header.context))); !done)
        return tl::unexpected(done.error());
    return BaseWriter(std::move(*file), header);
}

Result<void> BaseWriter::add(std::span<const float> logits) {
    if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); }))
        return fail("The reference has logits that are NaN or infinite; a base-logits file cannot hold them.");
    const std::size_t count = logits.size() / header_.vocabulary, words = baseRowWords(header_.vocabulary);
    std::vector<std::uint16_t> rows(count * words);
    parallelFor(count, 1, [&](std::size_t from, std::size_t to, unsigned) {
        for (std::size_t i = from; i < to; ++i)
            encodeBaseRow(logits.subspan(i * header_.vocabulary, header_.vocabulary),
                          std::span(rows).subspan(i * words, words));
    });
    rows_ += count;
    return file_.write(std::as_bytes(std::span<const std::uint16_t>(rows)));
}

Result<void> BaseWriter::finish(const Job& job) {
    const std::size_t expected = header_.chunks * header_.rowsOfChunk();
    if (rows_ != expected) return fail(fmt::format("The base-logits file needs {} rows and got {}.", expected, rows_));
    return file_.commit(job);
}

} // namespace qs::eval
