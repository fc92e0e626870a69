// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Storage of zarr arrays: a map from keys with slashes to bytes. It is a folder of files or a database.

#include "core/model/mapped_file.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace qs::zarr {

/// The bytes of a key: a range of a file, or of memory.
struct Piece {
    std::shared_ptr<MappedFile> file;                   ///< null: the key does not exist
    std::shared_ptr<const std::vector<std::byte>> held; ///< null: the bytes are in `file`; else they are here
    std::uint64_t offset = 0, size = 0;

    explicit operator bool() const { return file != nullptr; }
    /// True if it is a whole file.
    bool isFile() const { return !held && size == file->size(); }
    /// Bytes [from, from + n), which must exist. The span points into the file or memory, or into `scratch`.
    std::span<const std::byte> read(std::uint64_t from, std::size_t n, std::vector<std::byte>& scratch) const {
        if (held) return std::span(*held).subspan(std::size_t(offset + from), n);
        return file->read(std::size_t(offset + from), n, scratch);
    }
};

class Store {
public:
    virtual ~Store() = default;

    /// Called for each description. `prefix`: start of the keys at that place ("a/b/"; "" at the top). `about`: name of
    /// the description. Returns true if it is an array; then nothing below it is visited.
    using Found = std::function<Result<bool>(const std::string& prefix, const char* about, int version)>;
    /// Calls `found` for every description in the store.
    virtual Result<void> arrays(const Found& found) = 0;

    /// The bytes of a key. The error is the end of a sentence; it concerns only this key.
    virtual Result<Piece> find(const std::string& key) = 0;
    virtual std::size_t mostChunks() const = 0; ///< limit for the number of chunks of all arrays
    /// Charges memory, in bytes, that an array takes. The error is the end of a sentence.
    virtual Result<void> take(std::uint64_t bytes) = 0;
};

} // namespace qs::zarr
