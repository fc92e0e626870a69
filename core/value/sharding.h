// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Distributes a quantized tensor over a mesh: codes and scales are cut together (eformer's with_sharding). A block is
// on one device unless `straddle` is set. A scale that several parts need is stored with each of them.

#include "core/value/deviation.h"
#include "core/value/mesh.h"
#include "core/value/operand.h"

namespace qs::value {

struct ShardingOptions {
    bool straddle = false; ///< blocks may be cut: both devices store the scale of the block
    /// Each part is quantized by itself and has its own scales (MaxText: quantization_local_shard_count).
    bool ownScales = false;
};

struct Shard {
    std::int64_t device = 0;
    Shape begin, extent;
    StoredSize bytes;           ///< bytes of codes, scales and padding on this device
    std::int64_t cutBlocks = 0; ///< number of blocks shared with a neighbour
};

struct Sharding {
    QuantSpec spec;
    Mesh mesh;
    Partition partition;
    ShardingOptions options;
    Shape shape, parts;
    std::vector<Shard> shards; ///< one per device
    std::int64_t copies = 1;   ///< number of devices that hold the same part
    std::uint64_t bytesWhole = 0;
    std::uint64_t mostBytes() const;  ///< the most bytes on one device
    std::uint64_t totalBytes() const; ///< the bytes on all devices
    /// A remark on scales that cross devices, for example "the scale of a channel is on 4 devices".
    std::string note;
};
/// Fails if parts do not divide or would cut blocks; the message names the nearest possible number of parts.
Result<Sharding> shard(const QuantSpec& spec, const Shape& shape, DType source, const Mesh& mesh,
                       const Partition& partition, const ShardingOptions& options = {});

/// The decoded values on one device. Unless parts have their own scales, they equal those of the whole tensor to the
/// bit.
Result<Tensor> materializedShard(const QuantizedTensor& tensor, const Shard& shard);
/// x quantized in parts as the sharding says, and put together again.
Result<Tensor> quantizedSharded(const Tensor& x, const Sharding& sharding, const Job& job = {});

} // namespace qs::value
