// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Descriptions and chunks of zarr arrays.

#include "core/layouts/write_model.h"
#include "core/model/crc32c.h"
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "core/model/zarr/codec.h"
#include "made_zip.h"
#include "real_file.h"
#include <blosc.h>
#include <sys/stat.h>
#include <zlib.h>

using namespace qs;

/// A .zarray. Keys in `more` override others.
inline QByteArray second(const QByteArray& shape, const QByteArray& chunks, const QByteArray& compressor = "null",
                         const QByteArray& dtype = "\"<f4\"", const QByteArray& fill = "0",
                         const QByteArray& more = {}) {
    return "{\"zarr_format\":2,\"shape\":" + shape + ",\"chunks\":" + chunks + ",\"dtype\":" + dtype +
           ",\"compressor\":" + compressor + ",\"fill_value\":" + fill +
           (more.isEmpty() ? ",\"order\":\"C\",\"filters\":null" : more) + "}";
}

inline QByteArray third(const QByteArray& shape, const QByteArray& chunks, const QByteArray& codecs,
                        const QByteArray& type = "\"float32\"", const QByteArray& more = {}) {
    return "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":" + shape +
           ",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" + chunks +
           "}},\"chunk_key_encoding\":{\"name\":\"default\"},\"data_type\":" + type +
           ",\"fill_value\":0,\"codecs\":" + codecs + more + "}";
}

inline const char* const kBytes = "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]";
inline const char* const kShard =
    "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"codecs\":[\"bytes\"],"
    "\"index_codecs\":[\"bytes\",\"crc32c\"]}}]";

inline QByteArray zstd(const QByteArray& bytes) {
    QByteArray out(int(ZSTD_compressBound(std::size_t(bytes.size()))), '\0');
    out.resize(
        int(ZSTD_compress(out.data(), std::size_t(out.size()), bytes.constData(), std::size_t(bytes.size()), 1)));
    return out;
}
inline QByteArray zlib(const QByteArray& bytes) { return qCompress(bytes).mid(4); }
inline QByteArray blosc(const QByteArray& bytes) {
    QByteArray out(bytes.size() + BLOSC_MAX_OVERHEAD, '\0');
    out.resize(blosc_compress_ctx(5, 1, 4, std::size_t(bytes.size()), bytes.constData(), out.data(),
                                  std::size_t(out.size()), "lz4", 0, 1));
    return out;
}
inline QByteArray le(std::uint64_t value) { return le(value, 8); }
inline QByteArray sum(const QByteArray& bytes) {
    return le(crc32c(std::as_bytes(std::span(bytes.constData(), std::size_t(bytes.size())))), 4);
}
