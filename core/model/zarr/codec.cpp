// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zarr/codec.h"

#include "core/model/crc32c.h"

#include <algorithm>
#include <blosc.h>
#include <cstring>
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace qs::zarr {
namespace {

tl::unexpected<Error> wrongChunk(const char* codec, const char* what) {
    return fail(fmt::format("its {} data {}", codec, what));
}

constexpr const char* kOtherSize = "do not hold as many bytes as the chunk has";

Result<void> inflateInto(std::span<const std::byte> stored, std::span<std::byte> into, const char* name) {
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 32) != Z_OK) return wrongChunk(name, "cannot be decoded");
    // Works in pieces, because zlib counts in 32 bits. One extra byte of output shows that there is too much data.
    std::byte more{};
    std::size_t read = 0, written = 0;
    int status = Z_OK;
    while (status == Z_OK) {
        constexpr std::size_t kPiece = std::size_t(1) << 30;
        const bool isFull = written == into.size();
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(stored.data() + read));
        stream.avail_in = uInt(std::min(kPiece, stored.size() - read));
        stream.next_out = reinterpret_cast<Bytef*>(isFull ? &more : into.data() + written);
        stream.avail_out = uInt(isFull ? 1 : std::min(kPiece, into.size() - written));
        const auto in = stream.avail_in, out = stream.avail_out;
        status = inflate(&stream, Z_NO_FLUSH);
        read += in - stream.avail_in;
        written += out - stream.avail_out;
        if (written > into.size() || (in == stream.avail_in && out == stream.avail_out)) break;
    }
    inflateEnd(&stream);
    if (status == Z_STREAM_END && written == into.size() && read == stored.size()) return {};
    return wrongChunk(name, status == Z_STREAM_END || status == Z_OK ? kOtherSize : "are broken");
}

Result<void> decompress(std::span<const std::byte> stored, Compressor compressor, std::span<std::byte> into) {
    const char* name = nameOf(compressor);
    if (compressor == Compressor::Zstd) {
        const auto n = ZSTD_decompress(into.data(), into.size(), stored.data(), stored.size());
        if (ZSTD_isError(n))
            return wrongChunk(name, ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall ? kOtherSize : "are broken");
        return n == into.size() ? Result<void>() : wrongChunk(name, kOtherSize);
    }
    if (compressor == Compressor::Zlib || compressor == Compressor::Gzip) return inflateInto(stored, into, name);
    std::size_t size = 0;
    if (stored.size() < BLOSC_MIN_HEADER_LENGTH || blosc_cbuffer_validate(stored.data(), stored.size(), &size) < 0)
        return wrongChunk(name, "are broken");
    if (size != into.size()) return wrongChunk(name, kOtherSize);
    const int n = blosc_decompress_ctx(stored.data(), into.data(), into.size(), 1);
    return n >= 0 && std::size_t(n) == into.size() ? Result<void>() : wrongChunk(name, "are broken");
}

} // namespace

const char* nameOf(Compressor compressor) {
    constexpr const char* kNames[] = {"uncompressed", "zstd", "zlib", "gzip", "blosc"};
    return kNames[std::size_t(compressor)];
}

Result<std::vector<std::byte>> decode(std::span<const std::byte> stored, const Chain& chain, std::size_t size,
                                      unsigned elementBytes) {
    if (chain.hasCrc32c) {
        std::uint32_t sum = 0;
        if (stored.size() < 4) return fail("it ends before its check sum");
        std::memcpy(&sum, stored.data() + stored.size() - 4, 4);
        stored = stored.first(stored.size() - 4);
        if (crc32c(stored) != sum) return fail("its check sum (CRC-32C) is that of other bytes");
    }
    // Check before allocating. No compressor makes more than 65,536 bytes from one: zstd about 17,000, zlib 1,032.
    if (size / 65'536 > stored.size()) return fail(fmt::format("its data {}", kOtherSize));
    std::vector<std::byte> out(size);
    if (chain.compressor == Compressor::None) {
        if (stored.size() != size) return fail(fmt::format("it has {} bytes where {} are needed", stored.size(), size));
        std::copy(stored.begin(), stored.end(), out.begin());
    } else if (auto done = decompress(stored, chain.compressor, out); !done)
        return tl::unexpected(done.error());
    if (chain.signedBits > 0)
        for (auto& byte : out) {
            const int over = 8 - int(chain.signedBits);
            byte = std::byte(std::int8_t(std::uint8_t(byte) << over) >> over);
        }
    if (chain.isBigEndian && elementBytes > 1)
        for (std::size_t at = 0; at + elementBytes <= size; at += elementBytes)
            std::reverse(out.begin() + std::ptrdiff_t(at), out.begin() + std::ptrdiff_t(at + elementBytes));
    return out;
}

} // namespace qs::zarr
