// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/token_file.h"

#include "core/base/text.h"
#include "core/model/mapped_file.h"
#include "core/model/npy/npy.h"

#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace qs::eval {
namespace {

constexpr std::size_t kMostTokens = std::size_t(1) << 28;
constexpr std::int64_t kLargestToken = std::numeric_limits<std::int32_t>::max();

template<class T> std::int64_t tokenAt(const std::byte* bytes, std::size_t i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof value);
    if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>)
        return value > std::uint64_t(kLargestToken) ? -1 : std::int64_t(value);
    return std::int64_t(value);
}

using Reader = std::int64_t (*)(const std::byte*, std::size_t);
Reader readerOf(DType dtype) {
    switch (dtype) {
    case DType::I16: return tokenAt<std::int16_t>;
    case DType::U16: return tokenAt<std::uint16_t>;
    case DType::I32: return tokenAt<std::int32_t>;
    case DType::U32: return tokenAt<std::uint32_t>;
    case DType::I64: return tokenAt<std::int64_t>;
    case DType::U64: return tokenAt<std::uint64_t>;
    default: return nullptr;
    }
}

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
    return fail(fmt::format("{} {}.", shownPath(path), why), path);
}

Result<std::vector<std::int32_t>> fromArray(std::span<const std::byte> bytes, const std::string& path) {
    const auto header = parseNpyHeader(bytes.first(std::min<std::size_t>(bytes.size(), 16384)), bytes.size());
    if (!header) return refuse(path, "is no array of NumPy that can be read: " + header.error().message);
    const Reader read = readerOf(header->dtype);
    if (!read || header->isBigEndian || header->shape.size() != 1)
        return refuse(path, "is not one row of integers of 16, 32 or 64 bits, little-endian");
    if (header->elements > kMostTokens) return refuse(path, "holds more than 2^28 tokens");
    std::vector<std::int32_t> tokens(header->elements);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::int64_t token = read(bytes.data() + header->dataBegin, i);
        if (token < 0 || token > kLargestToken) return refuse(path, fmt::format("has no token id at place {}", i));
        tokens[i] = std::int32_t(token);
    }
    return tokens;
}

Result<std::vector<std::int32_t>> fromText(std::string_view text, const std::string& path) {
    std::vector<std::int32_t> tokens;
    const char *at = text.data(), *const end = at + text.size();
    while (true) {
        while (at != end && (std::strchr(" \t\r\n,", *at) && *at)) ++at;
        if (at == end) return tokens;
        std::int32_t token = 0;
        const auto [after, error] = std::from_chars(at, end, token);
        if (error != std::errc() || token < 0 || (after != end && (!std::strchr(" \t\r\n,", *after) || !*after)))
            return refuse(path, fmt::format("has no token id at byte {}: use whole numbers between spaces or commas",
                                            at - text.data()));
        if (tokens.size() == kMostTokens) return refuse(path, "holds more than 2^28 tokens");
        tokens.push_back(token);
        at = after;
    }
}

} // namespace

Result<std::vector<std::int32_t>> readTokens(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    if ((*file)->size() > kMostTokens * 8 + 65536) return refuse(path, "is longer than 2^28 tokens can be");
    std::vector<std::byte> scratch;
    const auto bytes = (*file)->read(0, (*file)->size(), scratch);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto tokens = text.starts_with("\x93NUMPY") ? fromArray(bytes, path) : fromText(text, path);
    if (!tokens) return tokens;
    if (auto same = (*file)->unchanged(); !same) return tl::unexpected(same.error());
    if (tokens->empty()) return refuse(path, "holds no token ids");
    return tokens;
}

} // namespace qs::eval
