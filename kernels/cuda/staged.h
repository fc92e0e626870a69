// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The product of few rows of x in which the warps of a block share x: how it is divided into blocks, and when it moves
// fewer bytes than the product without sharing. Host code.
//
// A block has 8 warps. Together they handle 4 x stagedTiles() tiles of channels and two chunks of 128 of k at once. x
// of both chunks is copied to shared memory once for all warps. Several blocks may share k: each writes its sums, and
// the last one that finishes adds them in order.

#include "kernels/cuda/tiles.h"

namespace qs::cuda {

inline constexpr int kStagedAcross = 4, kStagedDeep = 2; ///< warps of a block along n and along k
inline constexpr std::int64_t kStagedMost = 16;          ///< largest number of rows of x
/// Tiles per warp. A warp uses each x that it reads for this many tiles. The sums, two registers per tile and row of x,
/// must fit the register file.
constexpr int stagedTiles(int bits) { return bits == 8 ? 2 : 4; }
/// Channels of a block.
constexpr int stagedChannels(int bits) { return kStagedAcross * stagedTiles(bits) * kTileRows; }

/// Blocks that share a multiprocessor. As measured on an H200 with 4-bit codes, 8192 channels, k = 28672 and one row of x: 1 block 52 us, 2
/// blocks 45 us. With 16 columns the registers of two blocks do not suffice.
constexpr int stagedBlocks(int bits, int columns) { return bits == 4 && columns == 8 ? 2 : 1; }

/// How the product is divided into blocks.
struct StagedShape {
    int columns;           ///< rows of x that a warp handles: 8 or 16
    std::int64_t groups;   ///< groups of channels
    std::int64_t splits;   ///< blocks that share the k of a group
    std::int64_t chunks;   ///< chunks of 128 of k per block, an even number
    std::size_t sums;      ///< f32 sums that blocks leave for each other; 0: blocks do not share k
    double bytesOfBusiest; ///< bytes of weights and x that the busiest multiprocessor reads
};
/// m is 1 to kStagedMost.
StagedShape stagedShape(int bits, std::int64_t m, std::int64_t n, std::int64_t k, int processors);

/// Device memory for blocks that share k.
struct StagedRoom {
    float* sums = nullptr; ///< sums of each block, [group][split][column][channel]
    /// Blocks of each group that have written their sums; 0 before and after a run.
    std::uint32_t* finished = nullptr;
};

/// Whether the kernel accepts the scales. Scales for every k are accepted only if all tiles of a warp share them.
bool stagedTakes(int bits, ScaleMode mode, std::int64_t block, std::int64_t n);

/// Whether sharing x is better. With several rows of x: the busiest multiprocessor then reads fewer bytes, x included, than if every tile
/// of channels reads x itself. One row fits the first-level cache of a multiprocessor; there it is better for large weights of 4 and 8 bits,
/// as measured on an H200 (8192 channels, k = 28672: 45 against 61 us, and 65 against 70; 2 bits: 36 against 29).
bool prefersStaged(int bits, std::int64_t m, std::int64_t n, std::int64_t k, int processors);
/// Multiprocessors assumed for planning, as many as an H100 or H200 has. The choice must not depend on the machine that
/// runs the program.
inline constexpr int kPlannedProcessors = 132;

} // namespace qs::cuda
