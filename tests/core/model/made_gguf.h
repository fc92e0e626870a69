// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GGUF files built in code, both correct and faulty.

#include "made_file.h"

#include <cstring>
#include <vector>

template<class T> QByteArray le(T value) {
    QByteArray bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}
inline QByteArray u32(std::uint32_t v) { return le(v); }
inline QByteArray u64(std::uint64_t v) { return le(v); }
inline QByteArray str(const QByteArray& text) { return u64(std::uint64_t(text.size())) + text; }

enum Kind : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

inline QByteArray kv(const QByteArray& key, std::uint32_t kind, const QByteArray& value) {
    return str(key) + u32(kind) + value;
}
inline QByteArray array(std::uint32_t kind, std::uint64_t n, const QByteArray& items) {
    return u32(kind) + u64(n) + items;
}

struct MadeTensor {
    QByteArray name = "w";
    std::vector<std::int64_t> dims = {8, 4}; ///< the length of a row comes first
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
    QByteArray info() const {
        QByteArray bytes = str(name) + u32(std::uint32_t(dims.size()));
        for (const auto dim : dims) bytes += le(dim);
        return bytes + u32(type) + u64(offset);
    }
};

struct MadeGguf {
    std::vector<QByteArray> keys;
    std::vector<MadeTensor> tensors;
    QByteArray data;
    std::uint32_t version = 3;
    std::int64_t alignment = 32;
    std::optional<std::uint64_t> tensorCount, keyCount; ///< written instead of the true counts

    QByteArray bytes() const {
        QByteArray all =
            "GGUF" + u32(version) + u64(tensorCount.value_or(tensors.size())) + u64(keyCount.value_or(keys.size()));
        for (const auto& key : keys) all += key;
        for (const auto& tensor : tensors) all += tensor.info();
        all += zeros(int((alignment - all.size() % alignment) % alignment));
        return all + data;
    }
};

/// A file with one F32 tensor "w" of shape [4, 8].
inline MadeGguf smallGguf() {
    MadeGguf file;
    file.keys = {kv("general.architecture", String, str("llama"))};
    file.tensors = {MadeTensor{}};
    file.data = zeros(128);
    return file;
}
