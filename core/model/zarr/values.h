// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A zarr array as a tensor: chunks are decoded when they are read, and the last ones of all arrays stay decoded.

#include "core/model/derived_tensor.h"
#include "core/model/zarr/array.h"
#include "core/model/zarr/store.h"

#include <memory>
#include <mutex>

namespace qs::zarr {

/// Where a chunk lies in a shard; size 0: it is not there.
struct Stored {
    std::uint64_t offset = 0, size = 0;
};

class Values final : public DerivedTensor {
public:
    /// `pieces`: files of chunks in C order of their grid; null where there is none, which stands for the fill value.
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
    Chunk load(std::uint64_t number) const; ///< null: not there, or broken, which is remembered
    Result<Chunk> decoded(std::uint64_t number) const;

    Array array_;
    std::vector<Piece> pieces_;
    std::vector<std::shared_ptr<MappedFile>> files_;  ///< of the pieces, each once
    std::vector<std::uint64_t> chunkStride_, within_; ///< of a step along an axis: in chunks, in elements of one
    std::uint64_t storedBytes_ = 0;
    mutable std::mutex decoding_;         ///< threads that want one chunk wait for it instead of decoding it again
    mutable std::vector<bool> isChecked_; ///< the index of each shard, when it was first needed
    mutable std::mutex failing_;
    mutable Error failure_;
};

/// The place of a chunk in a shard; an error is the end of a sentence.
Result<Stored> placeInShard(const Array& array, const Piece& shard, std::uint64_t chunkInFile);
/// Every entry of the index lies in the shard, and its check sum is right.
Result<void> checkIndex(const Array& array, const Piece& shard);

} // namespace qs::zarr
