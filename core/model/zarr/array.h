// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What .zarray (version 2) or zarr.json (version 3) says of an array.

#include "core/model/dtype.h"
#include "core/model/zarr/codec.h"

#include <string>
#include <string_view>
#include <vector>

namespace qs::zarr {

struct Array {
    int version = 2;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> chunk; ///< elements that are decoded at a time: chunks, or those within a shard
    std::vector<std::int64_t> file;  ///< elements of a file: the same, or of a shard
    Chain chain;
    std::vector<std::byte> fill; ///< one element
    char separator = '.';
    bool hasPrefix = false; ///< files are c/0/0, not 0.0
    bool isShard = false;   ///< files have an index of their chunks
    bool indexAtEnd = true, indexHasCrc32c = false;

    std::uint64_t elements = 0;
    unsigned elementBytes() const { return unsigned(info(dtype).bits) / 8; }
    std::uint64_t chunkElements() const { return product(chunk); }
    /// How many files, or chunks, there are along an axis.
    std::uint64_t filesAlong(std::size_t axis) const { return countAlong(axis, file); }
    std::uint64_t chunksAlong(std::size_t axis) const { return countAlong(axis, chunk); }
    std::uint64_t fileCount() const;
    std::uint64_t chunksInFile() const;
    std::string fileName(std::uint64_t number) const; ///< "0.1", "c/0/1"; of files in C order

    static std::uint64_t product(const std::vector<std::int64_t>& sizes);

private:
    std::uint64_t countAlong(std::size_t axis, const std::vector<std::int64_t>& size) const {
        return (std::uint64_t(shape[axis]) + std::uint64_t(size[axis]) - 1) / std::uint64_t(size[axis]);
    }
};

/// The sentence of an error is the end of one: why the array is not read. `text` of .zarray or zarr.json.
Result<Array> parseArray(std::string_view text, int version);
/// zarr.json of a group, which has no elements.
bool isGroup(std::string_view text);

} // namespace qs::zarr
