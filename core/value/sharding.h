// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A quantized tensor over a mesh: codes and scales are cut together (eformer's with_sharding), a block never straddles
// two devices unless that is asked for, and a scale that serves more than one part is kept by each of them.

#include "core/value/deviation.h"
#include "core/value/mesh.h"
#include "core/value/operand.h"

namespace qs::value {

struct ShardingOptions {
    bool straddle = false; ///< cut blocks: both devices keep the block's scale
    /// Every part is quantized for itself and has scales of its own (MaxText: quantization_local_shard_count).
    bool ownScales = false;
};

struct Shard {
    std::int64_t device = 0;
    Shape begin, extent;
    StoredSize bytes;           ///< of codes, scales and padding on this device
    std::int64_t cutBlocks = 0; ///< that it shares with a neighbour
};

struct Sharding {
    QuantSpec spec;
    Mesh mesh;
    Partition partition;
    ShardingOptions options;
    Shape shape, parts;
    std::vector<Shard> shards; ///< per device
    std::int64_t copies = 1;   ///< devices that hold the same part
    std::uint64_t bytesWhole = 0;
    std::uint64_t mostBytes() const;  ///< on one device
    std::uint64_t totalBytes() const; ///< on all of them
    /// Codes and values that one device sees, with scales from outside it: "the scale of a channel is on 4 devices".
    std::string note;
};
/// Refused: parts that do not divide, and parts that cut blocks (with the nearest cut that does not).
Result<Sharding> shard(const QuantSpec& spec, const Shape& shape, DType source, const Mesh& mesh,
                       const Partition& partition, const ShardingOptions& options = {});

/// What one device materializes. Without scales of its own these are the values of the whole tensor, to the bit.
Result<Tensor> materializedShard(const QuantizedTensor& tensor, const Shard& shard);
/// x quantized as the sharding says, put together again.
Result<Tensor> quantizedSharded(const Tensor& x, const Sharding& sharding, const Job& job = {});

} // namespace qs::value
