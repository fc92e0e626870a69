// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/body.h"

#include "core/model/crc32c.h"
#include "core/model/ocdbt/cursor.h"

#include <fmt/format.h>
#include <memory>
#include <zstd.h>

namespace qs::ocdbt {
namespace {

constexpr const char* kBroken = "its zstd data are broken";

constexpr const char* kBehind = "it goes on behind its zstd data";
constexpr std::size_t kSmall = std::size_t(4) << 20;

/// Unpacked size of one zstd frame. The size in the frame's header may be wrong. So sizes above 4 MiB are measured by
/// decompressing, before memory is allocated.
Result<std::size_t> sizeWithin(std::span<const std::byte> frame) {
    const auto said = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (said <= kSmall) {
        const auto end = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
        if (ZSTD_isError(end)) return fail(kBroken);
        return end == frame.size() ? Result<std::size_t>(std::size_t(said)) : fail(kBehind);
    }
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
    std::vector<std::byte> piece(ZSTD_DStreamOutSize());
    ZSTD_inBuffer in{frame.data(), frame.size(), 0};
    std::size_t size = 0;
    for (;;) {
        ZSTD_outBuffer out{piece.data(), piece.size(), 0};
        const auto before = in.pos;
        const auto left = ZSTD_decompressStream(context.get(), &out, &in);
        if (ZSTD_isError(left)) return fail(kBroken);
        size += out.pos;
        if (size > kMostBody) return fail(fmt::format("it unpacks to more than {} bytes", kMostBody));
        if (left == 0) break;
        if (out.pos == 0 && in.pos == before) return fail(kBroken);
    }
    if (in.pos != frame.size()) return fail(kBehind);
    return size;
}

} // namespace

Result<std::span<const std::byte>> bodyOf(std::span<const std::byte> stored, Kind kind, std::vector<std::byte>& room) {
    if (stored.size() < kLeastStored) return fail(fmt::format("it has {} bytes, too few", stored.size()));
    if (stored.size() > kMostStored) return fail(fmt::format("it has {} bytes, too many", stored.size()));
    Cursor cursor(stored.first(stored.size() - 4));
    if (__builtin_bswap32(cursor.number<std::uint32_t>()) != std::uint32_t(kind))
        return fail(kind == Kind::Node ? "it does not begin as a B+tree node does"
                                       : "it does not begin as a manifest of OCDBT does");
    if (const auto length = cursor.number<std::uint64_t>(); length != stored.size())
        return fail(fmt::format("its header says that it has {} bytes, and it has {}", length, stored.size()));
    std::uint32_t sum = 0;
    std::memcpy(&sum, stored.data() + stored.size() - 4, 4);
    if (crc32c(stored.first(stored.size() - 4)) != sum) return fail("its check sum (CRC-32C) is that of other bytes");
    const auto version = cursor.varint(), compression = cursor.varint();
    if (cursor.failed()) return fail(cursor.why());
    if (version != 0) return fail(fmt::format("it has version {} of the format, and 0 is read", version));
    const auto packed = cursor.bytes(cursor.left());
    if (compression == 0) return packed;
    if (compression != 1) return fail(fmt::format("it is compressed in a way ({}) that is not read", compression));
    const auto size = sizeWithin(packed);
    if (!size) return tl::unexpected(size.error());
    room.resize(*size);
    const auto n = ZSTD_decompress(room.data(), room.size(), packed.data(), packed.size());
    if (ZSTD_isError(n) || n != *size) return fail(kBroken);
    return std::span<const std::byte>(room);
}

} // namespace qs::ocdbt
