// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A zarr array as a tensor. Chunks are decoded when they are read. A cache shared by all arrays keeps recent chunks.

#include "core/model/derived_tensor.h"
#include "core/model/zarr/array.h"
#include "core/model/zarr/store.h"

#include <memory>
#include <mutex>

namespace qs::zarr {

/// Place of a chunk in a shard, in bytes; size 0: the chunk is missing.
struct Stored {
    std::uint64_t offset = 0, size = 0;
};

class Values final : public DerivedTensor {
public:
    /// `pieces`: the files of the array in C order of their grid. A null piece stands for the fill value.
    Values(Array array, std::vector<Piece> pieces);
    ~Values() override;

    const char* typeId() const override { return info(array_.dtype).id; }
    std::string description() const override;
    std::vector<std::string> fields() const override { return {}; }
    std::uint64_t storedBytes() const override { return storedBytes_; }
    void read(std::uint64_t begin, std::span<std::byte> into) const override;
    Result<void> unchanged() const override;
    void release() const override;

private:
    using Chunk = std::shared_ptr<const std::vector<std::byte>>;
    void elements(std::uint64_t first, std::uint64_t n, std::byte* out) const;
    Chunk load(std::uint64_t number) const; ///< null: missing, or broken; the first failure is kept in failure_
    Result<Chunk> decoded(std::uint64_t number) const;

    Array array_;
    std::vector<Piece> pieces_;
    std::vector<std::shared_ptr<MappedFile>> files_; ///< the files of all pieces, each once
    /// Step for the next index of an axis: in chunks of the grid, and in elements of a chunk.
    std::vector<std::uint64_t> chunkStride_, within_;
    std::uint64_t storedBytes_ = 0;
    mutable std::mutex decoding_;         ///< so that two threads do not decode the same chunk
    mutable std::vector<bool> isChecked_; ///< for each shard: its index was checked; done at first use
    mutable std::mutex failing_;
    mutable Error failure_;
};

/// Place of a chunk in a shard. The error is the end of a sentence.
Result<Stored> placeInShard(const Array& array, const Piece& shard, std::uint64_t chunkInFile);
/// Checks that all entries of a shard's index lie in the shard, and compares the checksum of the index.
Result<void> checkIndex(const Array& array, const Piece& shard);

} // namespace qs::zarr
