// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/manifest.h"

#include <fmt/format.h>
#include <limits>

namespace qs::ocdbt {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned kMostArityLog2 = 16;

/// The last of a column of `n`.
std::uint64_t last(Cursor column, std::uint64_t n) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < n; ++i) value = column.varint();
    return value;
}

/// The last of the versions in the manifest is the newest of all; older ones may be in nodes of their own.
void readVersions(Cursor& cursor, unsigned arityLog2, Manifest& out) {
    const auto files = readDataFiles(cursor, {});
    const auto count = cursor.varint(std::uint64_t(1) << arityLog2, "it has more versions than it may");
    if (count == 0) return cursor.refuse("it has no version");
    Cursor generations = cursor.column(count);
    const auto heights = cursor.bytes(count);
    const Cursor ids = cursor.column(count), offsets = cursor.column(count), lengths = cursor.column(count);
    cursor.column(3 * count); // how many keys, bytes of nodes, bytes of values
    cursor.bytes(8 * count);  // when they were made
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
    // Nodes of older versions: read to their end, because the manifest ends with them.
    const auto nodes = cursor.varint(64, "it has more nodes of older versions than it may");
    cursor.column(4 * nodes); // generation, data file, offset, length
    cursor.column(nodes);     // how many versions
    cursor.bytes(8 * nodes);  // when
    cursor.bytes(nodes);      // heights
}

} // namespace

Result<Manifest> parseManifest(std::span<const std::byte> body) {
    Manifest manifest;
    Cursor cursor(body);
    if (const auto id = cursor.bytes(manifest.id.size()); !cursor.failed())
        std::memcpy(manifest.id.data(), id.data(), id.size());
    const auto kind = cursor.number<std::uint8_t>();
    cursor.varint(); // bytes of a value that lies in a node
    cursor.varint(); // bytes of a node
    const unsigned arityLog2 = cursor.number<std::uint8_t>();
    const auto compression = cursor.varint();
    if (compression == 1) cursor.number<std::int32_t>(); // level
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
