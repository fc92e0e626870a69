// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/staged.h"

#include <algorithm>

namespace qs::cuda {
namespace {

/// The fixed cost of a block, in pairs of chunks: a table of 32 KiB, one latency of the memory, and the sums.
constexpr std::int64_t kTurnsOfABlock = 2;
/// Bytes of codes from which on one row of x is shared: more than the second-level cache of an H200 holds.
constexpr std::int64_t kLargeWeight = std::int64_t(64) << 20;
std::int64_t upwards(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

} // namespace

StagedShape stagedShape(int bits, std::int64_t m, std::int64_t n, std::int64_t k, int processors) {
    StagedShape shape{m <= 8 ? 8 : 16, upwards(n, stagedChannels(bits)), 1, 0, 0, 0};
    const std::int64_t turns = upwards(upwards(k, kTileDepth), kStagedDeep);
    const double turnBytes =
        double(stagedChannels(bits)) * kStagedDeep * kTileDepth * bits / 8 + double(m) * kStagedDeep * kTileDepth * 2;
    const std::int64_t blocks = std::int64_t(processors) * stagedBlocks(bits, shape.columns); // that run at once
    std::int64_t least = 0;
    for (std::int64_t splits = 1; splits <= turns; ++splits) {
        const std::int64_t each = upwards(turns, splits);
        if (upwards(turns, each) != splits) continue; // the last block would be empty
        const std::int64_t waves = upwards(shape.groups * splits, blocks), cost = waves * (each + kTurnsOfABlock);
        if (least && cost >= least) continue;
        least = cost;
        shape.splits = splits, shape.chunks = each * kStagedDeep;
        shape.bytesOfBusiest = double(upwards(shape.groups * splits, processors) * each) * turnBytes;
    }
    if (shape.splits > 1) shape.sums = std::size_t(shape.groups * shape.splits * shape.columns * stagedChannels(bits));
    return shape;
}

bool stagedTakes(int bits, ScaleMode mode, std::int64_t block, std::int64_t n) {
    return mode != ScaleMode::EachK || block >= n || block % (stagedTiles(bits) * kTileRows) == 0;
}

bool prefersStaged(int bits, std::int64_t m, std::int64_t n, std::int64_t k, int processors) {
    if (m > kStagedMost) return false;
    if (m == 1) return bits >= 4 && n * k * bits / 8 > kLargeWeight;
    const std::int64_t tiles = upwards(n, kTileRows), depth = roundUp(k, kTileDepth);
    // Blocks of one tile each are spread evenly over the multiprocessors, but there are no more blocks than tiles.
    const double own = double(kTileRows) * double(depth) * bits / 8 + 2.0 * double(m) * double(depth);
    const double busiest = own * double(tiles) / double(std::min<std::int64_t>(tiles, processors));
    return stagedShape(bits, m, n, k, processors).bytesOfBusiest < busiest;
}

} // namespace qs::cuda
