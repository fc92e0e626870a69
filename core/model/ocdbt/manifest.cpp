// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/manifest.h"

#include <fmt/format.h>
#include <limits>

namespace qs::ocdbt {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned kMostArityLog2 = 16;

/// The last value of a column of `n` varints.
std::uint64_t last(Cursor column, std::uint64_t n) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < n; ++i) value = column.varint();
    return value;
}

/// The last version in the manifest is the newest one. Older versions may be in nodes of their own.
void readVersions(Cursor& cursor, unsigned arityLog2, Manifest& out) {
    const auto files = readDataFiles(cursor, {});
    const auto count = cursor.varint(std::uint64_t(1) << arityLog2, "it has more versions than it may");
    if (count == 0) return cursor.refuse("it has no version");
    Cursor generations = cursor.column(count);
    const auto heights = cursor.bytes(count);
    const Cursor ids = cursor.column(count), offsets = cursor.column(count), lengths = cursor.column(count);
    cursor.column(3 * count); // statistics: number of keys, bytes of nodes, bytes of values
    cursor.bytes(8 * count);  // commit times
    if (cursor.failed()) return;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto generation = generations.varint();
        if (generation <= out.generation) return cursor.refuse("its versions are not in order");
        out.generation = generation;
    }
    out.height = std::uint8_t(heights.back());
    out.offset = last(offsets, count);
    out.length = last(lengths, count);
    out.isEmpty = out.offset == kNone && out.length == kNone;
    const auto id = last(ids, count);
    if (id >= files.size()) return cursor.refuse("its newest version is in a data file that it does not name");
    out.file = files[std::size_t(id)];
    if (out.height > kMostHeight || (out.isEmpty && out.height > 0))
        return cursor.refuse("its tree has a height that is not read");
    // Nodes of older versions are not used. They are parsed because they are the last part of the manifest.
    const auto nodes = cursor.varint(64, "it has more nodes of older versions than it may");
    cursor.column(4 * nodes); // generation, data file, offset and length of each
    cursor.column(nodes);     // number of versions in each
    cursor.bytes(8 * nodes);  // commit times
    cursor.bytes(nodes);      // heights of the nodes
}

} // namespace

Result<Manifest> parseManifest(std::span<const std::byte> body) {
    Manifest manifest;
    Cursor cursor(body);
    if (const auto id = cursor.bytes(manifest.id.size()); !cursor.failed())
        std::memcpy(manifest.id.data(), id.data(), id.size());
    const auto kind = cursor.number<std::uint8_t>();
    cursor.varint(); // most bytes of a value that is stored in a node
    cursor.varint(); // most bytes of a node
    const unsigned arityLog2 = cursor.number<std::uint8_t>();
    const auto compression = cursor.varint();
    if (compression == 1) cursor.number<std::int32_t>(); // compression level
    if (cursor.failed()) return fail(cursor.why());
    if (kind > 1) return fail(fmt::format("it is a manifest of a kind ({}) that is not read", kind));
    if (compression > 1)
        return fail(fmt::format("its nodes are compressed in a way ({}) that is not read", compression));
    if (arityLog2 < 1 || arityLog2 > kMostArityLog2)
        return fail("its tree of versions has an arity that it cannot have");
    manifest.isNumbered = kind == 1;
    if (!manifest.isNumbered) readVersions(cursor, arityLog2, manifest);
    if (!cursor.failed() && cursor.left() > 0) cursor.refuse("it goes on behind its end");
    if (cursor.failed()) return fail(cursor.why());
    return manifest;
}

} // namespace qs::ocdbt
