// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The description of a zarr array: the content of .zarray (version 2) or zarr.json (version 3).

#include "core/model/dtype.h"
#include "core/model/zarr/codec.h"

#include <string>
#include <string_view>
#include <vector>

namespace qs::zarr {

struct Array {
    int version = 2; ///< of zarr: 2 or 3
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> chunk; ///< shape of what is decoded at a time: a chunk, or a chunk inside a shard
    std::vector<std::int64_t> file;  ///< shape of a file: the same as `chunk`, or the shape of a shard
    /// Codecs of a chunk.
    Chain chain;
    std::vector<std::byte> fill; ///< fill value, one element
    char separator = '.';        ///< between the numbers in a file name
    bool hasPrefix = false;      ///< true: file names are like c/0/0; false: like 0.0
    bool isShard = false;        ///< files are shards: they contain several chunks and an index of them
    bool indexAtEnd = true, indexHasCrc32c = false; ///< place of the index in a shard; it ends with a CRC-32C

    std::uint64_t elements = 0;
    unsigned elementBytes() const { return unsigned(info(dtype).bits) / 8; }
    std::uint64_t chunkElements() const { return product(chunk); }
    /// Number of files, or of chunks, along an axis.
    std::uint64_t filesAlong(std::size_t axis) const { return countAlong(axis, file); }
    std::uint64_t chunksAlong(std::size_t axis) const { return countAlong(axis, chunk); }
    std::uint64_t fileCount() const;
    std::uint64_t chunksInFile() const;
    std::string fileName(std::uint64_t number) const; ///< name of a file by its number in C order: "0.1", "c/0/1"

    static std::uint64_t product(const std::vector<std::int64_t>& sizes);

private:
    std::uint64_t countAlong(std::size_t axis, const std::vector<std::int64_t>& size) const {
        return (std::uint64_t(shape[axis]) + std::uint64_t(size[axis]) - 1) / std::uint64_t(size[axis]);
    }
};

/// Parses the text of .zarray (version 2) or zarr.json (version 3). The error is the end of a sentence: why the array
/// is not read.
Result<Array> parseArray(std::string_view text, int version);
/// False if the text describes an array of texts, records, dates or objects, which are no numbers.
bool holdsNumbers(std::string_view text, int version);
/// True for the zarr.json of a group; a group has no elements.
bool isGroup(std::string_view text);

} // namespace qs::zarr
