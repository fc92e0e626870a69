// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How weights lie for the tensor cores, and the repacking that brings them there. Host code; the kernels read the same
// constants.
//
// A tile is 16 output channels x 128 inner indices, stored as one warp reads it: lane 4g+t holds, for j = 0..7, the
// four codes of channel g (then of channel g+8) at k = 16j + 4t .. 16j + 4t + 3, low bits first. So the step j of
// mma.m16n8k16 finds a0 and a2 (channel g), a1 and a3 (channel g+8) in its own registers, its products are those of
// k = 16j .. 16j+15, and a scale block may be any multiple of 16. The order of k within a step differs from the
// instruction's own; x is read in the same order, so the sum is the same.
//
// Affine tiles of 2 bits (see affine.h) hold the same codes in the same registers, but the two of a pair lie 16 bits apart:
// the pairs of a channel, two a step, take two bits of both halves of a word each, eight pairs a word.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qs::cuda {

inline constexpr int kTileRows = 16, kTileDepth = 128, kSteps = kTileDepth / 16;

constexpr std::size_t tileBytes(int bits) { return std::size_t(kTileRows * kTileDepth * bits / 8); }
constexpr std::int64_t roundUp(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// Scales as the kernels read them.
enum class ScaleMode : int {
    Channel, ///< scale[n]
    Inner,   ///< along k in blocks, a multiple of 16: scale[(n / 16 * blocks + k / block) * 16 + n % 16]
    EachK,   ///< another for every k, one for `block` channels, a multiple of 16: scale[n / block * depth + k]
};

struct TiledWeight {
    int bits = 4;        ///< of a code: 2 4 8
    bool affine = false; ///< of 2 bits: value = code + offset, and codes in the order of affine tiles
    float offset = 0;
    std::int64_t n = 0, k = 0; ///< of the product
    std::int64_t tiles = 0;    ///< along n
    std::int64_t depth = 0;    ///< k rounded up to whole tiles
    ScaleMode mode = ScaleMode::Channel;
    std::int64_t block = 0;          ///< of Inner and EachK
    std::vector<std::uint8_t> codes; ///< [tiles][depth / 128][tileBytes]
    std::vector<float> scales;       ///< 0 beyond k, so that codes do not matter there
    std::vector<float> levels;       ///< value of each code, 1 << bits of them; empty for signed bytes and where affine
    std::uint64_t bytes() const { return codes.size() + 4 * scales.size(); }
};

/// Byte offset in the tile, and shift within that byte, of the code of channel `row` (0..15) at inner index `k`
/// (0..127).
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
    const int bit = (4 * j + i) * bits; // within what the lane holds of one channel: 32 codes
    if (bits == 2) return {std::size_t(lane * 16 + upper * 8 + bit / 8), bit % 8}; // one 16-byte load for both channels
    const int loads = bits / 4;                                                    // of 16 bytes, a channel
    const int load = bit / 128;
    return {std::size_t(((upper * loads + load) * 32 + lane) * 16 + bit % 128 / 8), bit % 8};
}

/// Steps of 16 from a multiple of which on one scale of ScaleMode::Inner holds: 1, 2, 4 or 8.
constexpr int stepsOfAScale(std::int64_t block) {
    const std::int64_t steps = block / 16;
    return steps % 8 == 0 ? 8 : steps % 4 == 0 ? 4 : steps % 2 == 0 ? 2 : 1;
}

/// What a kernel is compiled for: stepsOfAScale() of 4 and 8 for codes of 4 bits and affine ones, which most are; 0: it
/// asks. 8 where steps have no scales.
constexpr int compiledSteps(int bits, bool affine, ScaleMode mode, std::int64_t block) {
    if (mode != ScaleMode::Inner) return kSteps;
    const int steps = stepsOfAScale(block);
    return (bits == 4 || affine) && steps >= 4 ? steps : 0;
}

/// codes[n * k + i]: one code a byte (signed bytes as they are). scaleAt(n, k) is asked once for each scale.
struct Codes {
    int bits;
    std::int64_t n, k;
    std::span<const std::uint8_t> codes;
    std::span<const float> levels;
    bool affine = false; ///< of 2 bits: into affine tiles, without levels
    float offset = 0;
};
template<class ScaleAt> TiledWeight tile(const Codes& from, ScaleMode mode, std::int64_t block, const ScaleAt& scaleAt);

/// Without scales; tile() fills them in.
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

/// Which kernel does a shape, and how it is cut.
struct SkinnyShape {
    int columns;     ///< of x a warp carries: 8 16 32
    int tilesOfRows; ///< a warp carries along n
    int warps;       ///< of a block, which share the inner sum
};
SkinnyShape skinnyShape(std::int64_t m, std::int64_t k);
bool prefersSkinny(std::int64_t m); ///< else the large tiles
inline constexpr std::int64_t kSkinnyMost = 128, kLargeLeast = 17;
inline constexpr std::int64_t kLargeMost = 65535 * 128; ///< rows of the grid

} // namespace qs::cuda
