// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Where descriptions and chunks of zarr arrays are kept, by keys with slashes: files of a folder, or entries of a database.

#include "core/model/mapped_file.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace qs::zarr {

/// The bytes of a key.
struct Piece {
    std::shared_ptr<MappedFile> file;                   ///< null: there is no such key
    std::shared_ptr<const std::vector<std::byte>> held; ///< null: they lie in the file, else here
    std::uint64_t offset = 0, size = 0;

    explicit operator bool() const { return file != nullptr; }
    bool isFile() const { return !held && size == file->size(); }
    /// Bytes [from, from + n), which must be there: where they lie, else in `scratch`.
    std::span<const std::byte> read(std::uint64_t from, std::size_t n, std::vector<std::byte>& scratch) const {
        if (held) return std::span(*held).subspan(std::size_t(offset + from), n);
        return file->read(std::size_t(offset + from), n, scratch);
    }
};

class Store {
public:
    virtual ~Store() = default;

    /// Called where there is a description: what keys of that place begin with ("a/b/"; "" at the top), the description's
    /// name and version. True: it is an array, and what lies below is its own.
    using Found = std::function<Result<bool>(const std::string& prefix, const char* about, int version)>;
    virtual Result<void> arrays(const Found& found) = 0;

    /// An error is the end of a sentence, and of this key alone.
    virtual Result<Piece> find(const std::string& key) = 0;
    virtual std::size_t mostChunks() const = 0; ///< of all arrays: so many are looked for
    /// Charges memory that an array takes. An error is the end of a sentence.
    virtual Result<void> take(std::uint64_t bytes) = 0;
};

} // namespace qs::zarr
