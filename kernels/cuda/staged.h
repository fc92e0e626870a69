// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The product of few rows of x whose blocks share x: its cut, and when it moves fewer bytes than the one whose blocks do
// not. Host code.
//
// A block of 8 warps does 4 x kStagedTiles tiles of channels and two chunks of 128 of k at once; x of both comes to shared
// memory once for all of them. Blocks may share k: each leaves its sums, and the last that ends adds them up in order.

#include "kernels/cuda/tiles.h"

namespace qs::cuda {

inline constexpr int kStagedAcross = 4, kStagedDeep = 2; ///< warps of a block along n and along k
inline constexpr std::int64_t kStagedMost = 16;          ///< rows of x
/// Tiles a warp: what it reads of x is used so often, and two registers of sums a tile and row of x fit.
constexpr int stagedTiles(int bits) { return bits == 8 ? 2 : 4; }
constexpr int stagedChannels(int bits) { return kStagedAcross * stagedTiles(bits) * kTileRows; } ///< of a block

struct StagedShape {
    int columns;           ///< of x that a warp carries: 8 or 16
    std::int64_t groups;   ///< of channels
    std::int64_t splits;   ///< blocks that share the k of a group
    std::int64_t chunks;   ///< of 128 of k a block, even
    std::size_t sums;      ///< f32 that blocks leave for each other; 0: they do not share k
    double bytesOfBusiest; ///< weights and x that the busiest multiprocessor reads
};
/// m: 1 to kStagedMost.
StagedShape stagedShape(int bits, std::int64_t m, std::int64_t n, std::int64_t k, int processors);

/// What blocks that share k leave for each other, on the device.
struct StagedRoom {
    float* sums = nullptr;             ///< [group][split][column][channel]
    std::uint32_t* finished = nullptr; ///< blocks of each group that have left theirs; 0 before and after
};

/// The kernel takes scales for every k only where the tiles of a warp share them.
bool stagedTakes(int bits, ScaleMode mode, std::int64_t block, std::int64_t n);

/// By count: the busiest multiprocessor reads fewer bytes, x included, than where each tile of channels reads x.
bool prefersStaged(int bits, std::int64_t m, std::int64_t n, std::int64_t k, int processors);
/// Of the device that the goals name; what is preferred must not depend on the machine that asks.
inline constexpr int kPlannedProcessors = 132;

} // namespace qs::cuda
