// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/node.h"

namespace qs::ocdbt {
namespace {

constexpr std::uint64_t kMostEntries = std::uint64_t(1) << 20; // limit of the format

} // namespace

void Node::readLeaf(Cursor& cursor) {
    std::uint64_t keyBytes = 0, valueBytes = 0, outside = 0;
    prefixes_ = cursor.column(count_ - 1);
    suffixes_ = cursor.column(count_, &keyBytes);
    keys_ = cursor;
    cursor.bytes(keyBytes);
    lengths_ = cursor.column(count_);
    kinds_ = cursor.bytes(count_);
    Cursor lengths = lengths_;
    for (const auto kind : kinds_) {
        const auto length = lengths.varint();
        if (kind == std::byte{1})
            ++outside;
        else if (kind != std::byte{0})
            return cursor.refuse("a value in it is stored in a way that is not read");
        else if (length > cursor.left() || valueBytes + length > cursor.left())
            return cursor.refuse("it ends before its values do");
        else
            valueBytes += length;
    }
    ids_ = cursor.column(outside);
    offsets_ = cursor.column(outside);
    values_ = cursor;
    cursor.bytes(valueBytes);
}

void Node::readInner(Cursor& cursor) {
    std::uint64_t keyBytes = 0;
    prefixes_ = cursor.column(count_ - 1);
    suffixes_ = cursor.column(count_, &keyBytes);
    commons_ = cursor.column(count_);
    keys_ = cursor;
    cursor.bytes(keyBytes);
    ids_ = cursor.column(count_);
    offsets_ = cursor.column(count_);
    lengths_ = cursor.column(count_);
    cursor.column(3 * count_); // statistics: number of keys, bytes of nodes, bytes of values
}

Result<Node> Node::parse(std::span<const std::byte> body, std::string_view base) {
    Node node;
    Cursor cursor(body);
    node.height_ = cursor.number<std::uint8_t>();
    node.files_ = readDataFiles(cursor, base);
    node.count_ = cursor.varint(kMostEntries, "it has more entries than it may");
    if (node.count_ == 0) cursor.refuse("it has no entries");
    if (node.count_ > cursor.left()) cursor.refuse("it ends too early");
    if (cursor.failed()) return fail(cursor.why());
    node.height_ == 0 ? node.readLeaf(cursor) : node.readInner(cursor);
    if (!cursor.failed() && cursor.left() > 0) cursor.refuse("it goes on behind its end");
    if (cursor.failed()) return fail(cursor.why());
    return node;
}

bool Node::next(Entry& entry) {
    if (why_ || done_ == count_) return false;
    const auto prefix = done_ == 0 ? 0 : prefixes_.varint();
    if (prefix > entry.key.size() || (done_ == 0 && prefix > 0))
        return refuse("a key in it shares more than the last one has");
    const auto suffix = suffixes_.varint();
    if (prefix + suffix > kMostKey) return refuse("a key in it is too long");
    const auto end = keys_.text(suffix);
    if (done_ > 0 && std::string_view(entry.key).substr(std::size_t(prefix)) >= end)
        return refuse("its keys are not in order");
    entry.key.resize(std::size_t(prefix));
    entry.key += end;
    entry.length = lengths_.varint();
    entry.isInside = height_ == 0 && kinds_[std::size_t(done_)] == std::byte{0};
    entry.value = {};
    if (entry.isInside) {
        entry.value = values_.bytes(entry.length);
    } else {
        entry.file = ids_.varint();
        entry.offset = offsets_.varint();
        if (entry.file >= files_.size()) return refuse("it refers to a data file that it does not name");
    }
    if (height_ > 0) {
        const auto common = commons_.varint();
        if (common > entry.key.size()) return refuse("what the keys of a child share is longer than its first key");
        entry.common = std::size_t(common);
    }
    ++done_;
    return true;
}

} // namespace qs::ocdbt
