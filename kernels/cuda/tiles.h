// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The layout of weights for the tensor cores, and the repacking to it. Host code; the kernels use the same constants.
//
// A tile is 16 output channels x 128 inner indices k, stored in the order in which one warp reads it. Lane 4g+t holds,
// for j = 0..7, four codes of channel g, and then four of channel g+8, at k = 16j + 4t .. 16j + 4t + 3, low bits first.
// So step j of mma.m16n8k16 finds a0 and a2 (channel g), a1 and a3 (channel g+8) in the registers of the lane. Step j
// covers k = 16j .. 16j+15, so a scale block may be any multiple of 16. The order of k within a step is not the
// instruction's own order; x is read in the same order, so the sum is the same.
//
// Affine tiles of 2 bits (see affine.h) hold the same codes in the same registers, but the two codes of a pair are 16
// bits apart. A channel has two pairs per step. Each pair takes two bits of each half of a word, so a word holds eight
// pairs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qs::cuda {

/// Channels and inner indices of a tile; steps of 16 per tile.
inline constexpr int kTileRows = 16, kTileDepth = 128, kSteps = kTileDepth / 16;

constexpr std::size_t tileBytes(int bits) { return std::size_t(kTileRows * kTileDepth * bits / 8); }
constexpr std::int64_t roundUp(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// The layout of the scales that the kernels read.
enum class ScaleMode : int {
    Channel, ///< scale[n]
    Inner,   ///< one scale per block of k, a multiple of 16: scale[(n / 16 * blocks + k / block) * 16 + n % 16]
    EachK,   ///< one scale per k and per `block` channels, a multiple of 16: scale[n / block * depth + k]
};

/// A weight in this layout, in host memory.
struct TiledWeight {
    int bits = 4;        ///< bits of a code: 2, 4 or 8
    bool affine = false; ///< 2 bits only: value = code + offset, and the codes are in affine tiles
    float offset = 0;
    std::int64_t n = 0, k = 0; ///< size of the product
    std::int64_t tiles = 0;    ///< tiles along n
    std::int64_t depth = 0;    ///< k rounded up to whole tiles
    ScaleMode mode = ScaleMode::Channel;
    std::int64_t block = 0;          ///< Inner: elements of k; EachK: channels
    std::vector<std::uint8_t> codes; ///< [tiles][depth / 128][tileBytes]
    std::vector<float> scales;       ///< 0 beyond k, so that codes there do not matter
    std::vector<float> levels;       ///< value of each code, [1 << bits]; empty for signed bytes and if affine
    std::uint64_t bytes() const { return codes.size() + 4 * scales.size(); }
};

/// Where the code of channel `row` (0..15) at inner index `k` (0..127) is: the byte offset in the tile, and the shift
/// in that byte.
struct TilePlace {
    std::size_t byte;
    int shift;
};
constexpr TilePlace placeInTile(int bits, int row, int k, bool affine = false) {
    const int g = row % 8, upper = row / 8, j = k / 16, t = k % 16 / 4, i = k % 4;
    const int lane = 4 * g + t;
    if (affine) {
        const int pair = 2 * j + i / 2, within = 2 * (pair % 8);
        return {std::size_t(lane * 16 + upper * 8 + pair / 8 * 4 + i % 2 * 2 + within / 8), within % 8};
    }
    const int bit = (4 * j + i) * bits; // bit position within the 32 codes that the lane holds of one channel
    // One 16-byte load for both channels.
    if (bits == 2) return {std::size_t(lane * 16 + upper * 8 + bit / 8), bit % 8};
    const int loads = bits / 4; // 16-byte loads per channel
    const int load = bit / 128;
    return {std::size_t(((upper * loads + load) * 32 + lane) * 16 + bit % 128 / 8), bit % 8};
}

/// The number of steps of 16 for which one scale of ScaleMode::Inner certainly holds: 1, 2, 4 or 8.
constexpr int stepsOfAScale(std::int64_t block) {
    const std::int64_t steps = block / 16;
    return steps % 8 == 0 ? 8 : steps % 4 == 0 ? 4 : steps % 2 == 0 ? 2 : 1;
}

/// The number of steps per scale as a compile-time constant of a kernel. 4 and 8 are compiled for 4-bit codes and
/// affine tiles, the frequent cases. 0: the kernel computes it at run time. 8 if steps have no scales of their own.
constexpr int compiledSteps(int bits, bool affine, ScaleMode mode, std::int64_t block) {
    if (mode != ScaleMode::Inner) return kSteps;
    const int steps = stepsOfAScale(block);
    return (bits == 4 || affine) && steps >= 4 ? steps : 0;
}

/// Codes before repacking: codes[n * k + i], one code per byte (signed bytes unchanged).
struct Codes {
    int bits;
    std::int64_t n, k;
    std::span<const std::uint8_t> codes;
    std::span<const float> levels;
    bool affine = false; ///< 2 bits only: use affine tiles, without levels
    float offset = 0;
};
/// Repacks codes and scales. scaleAt(n, k) is called once for each scale.
template<class ScaleAt> TiledWeight tile(const Codes& from, ScaleMode mode, std::int64_t block, const ScaleAt& scaleAt);

/// Repacks the codes only; tile() adds the scales.
TiledWeight tileCodes(const Codes& from, ScaleMode mode, std::int64_t block);

template<class ScaleAt>
TiledWeight tile(const Codes& from, ScaleMode mode, std::int64_t block, const ScaleAt& scaleAt) {
    TiledWeight to = tileCodes(from, mode, block);
    if (mode == ScaleMode::Channel)
        for (std::int64_t n = 0; n < from.n; ++n) to.scales[std::size_t(n)] = scaleAt(n, 0);
    if (mode == ScaleMode::Inner) {
        const std::int64_t blocks = roundUp(to.depth, block) / block;
        for (std::int64_t n = 0; n < from.n; ++n)
            for (std::int64_t k = 0; k < from.k; k += block)
                to.scales[std::size_t((n / 16 * blocks + k / block) * 16 + n % 16)] = scaleAt(n, k);
    }
    if (mode == ScaleMode::EachK)
        for (std::int64_t n = 0; n < from.n; n += block)
            for (std::int64_t k = 0; k < from.k; ++k) to.scales[std::size_t(n / block * to.depth + k)] = scaleAt(n, k);
    return to;
}

/// The shape of the skinny product.
struct SkinnyShape {
    int columns;     ///< rows of x that a warp handles: 8, 16 or 32
    int tilesOfRows; ///< tiles along n that a warp handles
    int warps;       ///< warps of a block; they divide k between them
};
SkinnyShape skinnyShape(std::int64_t m, std::int64_t k);
bool prefersSkinny(std::int64_t m); ///< false: use largeProduct()
/// Largest m for skinnyProduct(), smallest m for largeProduct().
inline constexpr std::int64_t kSkinnyMost = 128, kLargeLeast = 17;
inline constexpr std::int64_t kLargeMost = 65535 * 128; ///< largest m: the limit of the grid

} // namespace qs::cuda
