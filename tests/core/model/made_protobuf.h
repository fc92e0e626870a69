// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Protobuf messages built byte by byte, also ones that no writer makes.

#include <QByteArray>

#include <cstdint>

namespace pb {

inline QByteArray varint(std::uint64_t value) {
    QByteArray bytes;
    for (; value > 127; value >>= 7) bytes += char(value | 128);
    return bytes + char(value);
}
inline QByteArray tag(int field, int wire) { return varint(std::uint64_t(field) << 3 | unsigned(wire)); }
inline QByteArray number(int field, std::uint64_t value) { return tag(field, 0) + varint(value); }
inline QByteArray part(int field, const QByteArray& bytes) {
    return tag(field, 2) + varint(std::uint64_t(bytes.size())) + bytes;
}
/// A field whose declared length is `length`, whatever its true length.
inline QByteArray lie(int field, std::uint64_t length, const QByteArray& bytes) {
    return tag(field, 2) + varint(length) + bytes;
}

inline QByteArray dims(std::initializer_list<std::uint64_t> sizes) {
    QByteArray bytes;
    for (const auto size : sizes) bytes += number(1, size);
    return bytes;
}
/// A TensorProto.
inline QByteArray tensor(const QByteArray& name, int type, const QByteArray& shape, const QByteArray& values) {
    return shape + number(2, std::uint64_t(type)) + values + part(8, name);
}
inline QByteArray raw(const QByteArray& bytes) { return part(9, bytes); }
inline QByteArray entry(const QByteArray& key, const QByteArray& value) {
    return part(13, part(1, key) + part(2, value));
}
inline QByteArray outside(const QByteArray& location, const QByteArray& more = {}) {
    return entry("location", location) + more + number(14, 1);
}
inline QByteArray initializer(const QByteArray& tensor) { return part(5, tensor); }
inline QByteArray attribute(const QByteArray& name, const QByteArray& value) { return part(5, part(1, name) + value); }
/// A node in a graph.
inline QByteArray node(const QByteArray& op, const QByteArray& name, const QByteArray& output, const QByteArray& rest) {
    return part(1, part(2, output) + part(3, name) + part(4, op) + rest);
}
/// A ModelProto with this graph.
inline QByteArray model(const QByteArray& graph) {
    return number(1, 8) + part(2, "test") + part(7, graph) + part(8, number(2, 17));
}

} // namespace pb
