// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/tiles.h"

#include <algorithm>

namespace qs::cuda {

TiledWeight tileCodes(const Codes& from, ScaleMode mode, std::int64_t block) {
    TiledWeight to;
    to.bits = from.bits, to.n = from.n, to.k = from.k, to.mode = mode, to.block = block;
    to.affine = from.affine, to.offset = from.offset;
    to.tiles = roundUp(from.n, kTileRows) / kTileRows, to.depth = roundUp(from.k, kTileDepth);
    to.levels.assign(from.levels.begin(), from.levels.end());
    const std::int64_t deep = to.depth / kTileDepth;
    const std::size_t bytes = tileBytes(from.bits);
    to.codes.assign(std::size_t(to.tiles * deep) * bytes, 0);

    // Compute the place of every code of a tile once.
    std::vector<TilePlace> places;
    for (int row = 0; row < kTileRows; ++row)
        for (int k = 0; k < kTileDepth; ++k) places.push_back(placeInTile(from.bits, row, k, from.affine));
    for (std::int64_t n = 0; n < from.n; ++n)
        for (std::int64_t k = 0; k < from.k; ++k) {
            const TilePlace& place = places[std::size_t(n % kTileRows * kTileDepth + k % kTileDepth)];
            std::uint8_t* tile = &to.codes[std::size_t(n / kTileRows * deep + k / kTileDepth) * bytes];
            tile[place.byte] = std::uint8_t(tile[place.byte] | from.codes[std::size_t(n * from.k + k)] << place.shift);
        }

    switch (mode) {
    case ScaleMode::Channel: to.scales.assign(std::size_t(to.tiles * kTileRows), 0); break;
    case ScaleMode::Inner:
        to.scales.assign(std::size_t(to.tiles * kTileRows * (roundUp(to.depth, block) / block)), 0);
        break;
    case ScaleMode::EachK: {
        const std::int64_t rows = to.tiles * kTileRows;
        to.scales.assign(std::size_t(roundUp(rows, block) / block * to.depth), 0);
        break;
    }
    }
    return to;
}

SkinnyShape skinnyShape(std::int64_t m, std::int64_t k) {
    const std::int64_t deep = roundUp(k, kTileDepth) / kTileDepth;
    const int warps = deep >= 16 ? 8 : deep >= 8 ? 4 : deep >= 2 ? 2 : 1;
    if (m <= 8) return {8, 1, warps};
    if (m <= 16) return {16, 1, warps};
    return {32, 2, std::min(warps, 4)};
}

bool prefersSkinny(std::int64_t m) { return m <= 64; }

} // namespace qs::cuda
