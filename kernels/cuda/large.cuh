// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Many rows of x. A block computes 128 channels x 128 rows of x. Weights go from memory to registers and are decoded
// there, with their scales. Asynchronous copies bring x into two halves of shared memory, each 64 deep. One half is
// filled while the other is used.

#include "kernels/cuda/fragments.cuh"

namespace qs::cuda {

inline constexpr int kLargeRows = 128, kHalfDepth = 64;
/// bf16 per row of x in shared memory. A row is 160 bytes, so that the 8-byte loads of half a warp use 32 different
/// banks.
inline constexpr int kRowStride = kHalfDepth + 16;
inline constexpr int kStageBytes = kLargeRows * kRowStride * 2;

template<class Part, ScaleMode Mode>
__global__ void __launch_bounds__(256) large(DeviceWeight w, const __nv_bfloat16* __restrict__ x, Target to) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto* stages = reinterpret_cast<__nv_bfloat16*>(memory);
    auto* table = reinterpret_cast<std::uint32_t*>(memory + 2 * kStageBytes);
    Part::fillTable(table, w.levels); // the first barrier below also waits for this

    constexpr int kRows = 2, kGroups = 8; // per warp: 32 channels x 64 rows of x; the block has 4 x 2 warps
    const int lane = laneOfWarp(), warp = threadIdx.x / 32;
    const int g = lane / 4, t = lane % 4;
    const auto decoder = Part::decoder(table, w, lane);
    const std::int64_t firstTile = std::int64_t(blockIdx.x) * 8 + warp / 2 * kRows, deep = w.depth / kTileDepth;
    const std::int64_t firstColumn = std::int64_t(blockIdx.y) * kLargeRows;
    const int ownColumn = warp % 2 * 64;
    const ScaleBlocks blocks(w, Mode == ScaleMode::Inner);
    std::int64_t tiles[kRows]; // past the end the last tile is used again; its sums are not stored
    const float* ofEachK[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        tiles[r] = firstTile + r < w.tiles ? firstTile + r : w.tiles - 1;
        if constexpr (Mode == ScaleMode::EachK) ofEachK[r] = w.scales + tiles[r] * kTileRows / w.block * w.depth;
    }
    float lower[kRows], upper[kRows]; // Inner only: the scales of the block

    const auto fetch = [&](std::int64_t half) { // 128 rows x 64 bf16, 16 bytes per thread and copy
        __nv_bfloat16* stage = stages + half % 2 * (kStageBytes / 2);
        for (int i = threadIdx.x; i < kLargeRows * 8; i += 256) {
            const int row = i / 8, part = i % 8;
            copyAsync(stage + row * kRowStride + part * 8,
                      x + (firstColumn + row) * w.depth + half * kHalfDepth + part * 8);
        }
    };
    float total[kRows][kGroups][4] = {};
    fetch(0);
    closeGroup();
    for (std::int64_t chunk = 0; chunk < deep; ++chunk) {
        Part part[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r)
            part[r].load(w.codes + (tiles[r] * deep + chunk) * tileBytes(Part::kBits), lane, false);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const std::int64_t at = chunk * 2 + half;
            if (at + 1 < deep * 2) fetch(at + 1);
            closeGroup(); // may be empty: then wait_group<1> still means "all but the newest"
            waitGroups<1>();
            __syncthreads();
            const __nv_bfloat16* stage = stages + at % 2 * (kStageBytes / 2) + (ownColumn + g) * kRowStride + 4 * t;
#pragma unroll
            for (int step = 0; step < 4; ++step) {
                const int j = half * 4 + step;
                std::uint32_t a[kRows][4];
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    part[r].decode(j, decoder, a[r]);
                    if constexpr (Mode == ScaleMode::Inner) {
                        if ((j & (blocks.due - 1)) == 0) {
                            const float* s = blocks.at(w, tiles[r], int(chunk), j) + g;
                            lower[r] = __ldg(s), upper[r] = __ldg(s + 8);
                        }
                        a[r][0] = scaled(a[r][0], lower[r], lower[r]), a[r][2] = scaled(a[r][2], lower[r], lower[r]);
                        a[r][1] = scaled(a[r][1], upper[r], upper[r]), a[r][3] = scaled(a[r][3], upper[r], upper[r]);
                    }
                    if constexpr (Mode == ScaleMode::EachK) {
                        const float4 s =
                            __ldg(reinterpret_cast<const float4*>(ofEachK[r] + chunk * kTileDepth + 16 * j) + t);
                        a[r][0] = scaled(a[r][0], s.x, s.y), a[r][1] = scaled(a[r][1], s.x, s.y);
                        a[r][2] = scaled(a[r][2], s.z, s.w), a[r][3] = scaled(a[r][3], s.z, s.w);
                    }
                }
#pragma unroll
                for (int c = 0; c < kGroups; ++c) {
                    const uint2 b = *reinterpret_cast<const uint2*>(stage + c * 8 * kRowStride + step * 16);
#pragma unroll
                    for (int r = 0; r < kRows; ++r) mma(total[r][c], a[r], b.x, b.y);
                }
            }
            __syncthreads(); // wait before the next fetch overwrites this half
        }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kGroups; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const std::int64_t n = (firstTile + r) * kTileRows + g + i / 2 * 8;
                const std::int64_t m = firstColumn + ownColumn + c * 8 + 2 * t + i % 2;
                if (n >= to.n || m >= to.m) continue;
                store(to, m, n, Mode == ScaleMode::Channel ? total[r][c][i] * w.scales[n] : total[r][c][i]);
            }
}

template<class Part, ScaleMode Mode>
int launchLarge(const DeviceWeight& w, const void* x, const Target& to, Stream stream) {
    constexpr int bytes = 2 * kStageBytes + Part::kTable;
    const auto kernel = large<Part, Mode>;
    if (const auto code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes))
        return int(code);
    const dim3 grid(unsigned((w.tiles + 7) / 8), unsigned((to.m + kLargeRows - 1) / kLargeRows));
    QS_LAUNCH(kernel, grid, 256, bytes, stream, w, static_cast<const __nv_bfloat16*>(x), to);
    return int(cudaGetLastError());
}

template<class Part> int largeByMode(const DeviceWeight& w, const void* x, const Target& to, Stream stream) {
    switch (w.mode) {
    case ScaleMode::Channel: return launchLarge<Part, ScaleMode::Channel>(w, x, to, stream);
    case ScaleMode::Inner: return launchLarge<Part, ScaleMode::Inner>(w, x, to, stream);
    case ScaleMode::EachK: return launchLarge<Part, ScaleMode::EachK>(w, x, to, stream);
    }
    return int(cudaErrorInvalidValue);
}

} // namespace qs::cuda
