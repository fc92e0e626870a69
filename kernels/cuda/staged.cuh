// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Few rows of x, shared by the warps of a block. Asynchronous copies bring x and the scales into stages of shared
// memory, each 256 deep. Weights go from memory to registers. The next weights of a tile are loaded as soon as the
// current ones are decoded. See staged.h.

#include "kernels/cuda/fragments.cuh"
#include "kernels/cuda/staged.h"

namespace qs::cuda {

inline constexpr int kStagedDepth = kStagedDeep * kTileDepth, kStagedThreads = 32 * kStagedAcross * kStagedDeep;
/// Bytes per row of x in shared memory: 32 more than a multiple of 128, so that the 8-byte loads of half a warp use 32
/// different banks.
inline constexpr int kStagedRowBytes = 2 * kStagedDepth + 32;

/// `Due`: steps for which one scale of ScaleMode::Inner holds; 0: known at run time only.
template<class Part, int Groups, ScaleMode Mode, int Due> struct Stage {
    static constexpr int kTiles = stagedTiles(Part::kBits), kColumns = 8 * Groups, kXBytes = kColumns * kStagedRowBytes;
    /// Number of stages. If every step may have a scale, stages are larger, and two are used.
    static constexpr int kCount = Mode == ScaleMode::Inner && Due == 0 ? 2 : 3;
    /// f32 scales per warp and stage.
    static constexpr int scales(int due) {
        return Mode == ScaleMode::Inner   ? kTiles * (kSteps / due) * kTileRows
               : Mode == ScaleMode::EachK ? kTileDepth
                                          : 0;
    }
    static constexpr int bytes(int due) { return kXBytes + 4 * scales(due) * kStagedThreads / 32; }
};

template<class Part, int Groups, ScaleMode Mode, int Due>
__global__ void __launch_bounds__(kStagedThreads, stagedBlocks(Part::kBits, 8 * Groups))
    staged(DeviceWeight w, const __nv_bfloat16* __restrict__ x, std::int64_t chunks, StagedRoom room, Target to) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Stages = Stage<Part, Groups, Mode, Due>;
    constexpr int kTiles = Stages::kTiles, kCount = Stages::kCount, kColumns = Stages::kColumns;
    auto* table = reinterpret_cast<std::uint32_t*>(memory);
    const int lane = laneOfWarp(), warp = threadIdx.x / 32, across = warp % kStagedAcross, half = warp / kStagedAcross;
    const int g = lane / 4, t = lane % 4;
    const auto decoder = Part::decoder(table, w, lane);
    const int deep = int(w.depth / kTileDepth), begin = int(blockIdx.y * chunks);
    const int end = begin + int(chunks) < deep ? begin + int(chunks) : deep;
    const std::int64_t firstTile = (std::int64_t(blockIdx.x) * kStagedAcross + across) * kTiles;
    // Past the end the last tile is used again; its sums are not stored.
    const auto tileAt = [&](int r) { return firstTile + r < w.tiles ? firstTile + r : w.tiles - 1; };
    const ScaleBlocks blocks(w, Mode == ScaleMode::Inner);
    const int due = Due ? Due : blocks.due, stageBytes = Stages::bytes(due);

    Part part[kTiles];
    const auto ask = [&](int r, int chunk) {
        part[r].load(w.codes + (tileAt(r) * deep + chunk) * tileBytes(Part::kBits), lane, true);
    };
    // A warp copies rows `warp` and `warp + 8` of x, 16 bytes per lane, and its own scales.
    static_assert(kStagedThreads / 32 == 8 && 2 * kStagedDepth == 32 * 16);
    const __nv_bfloat16* xRow = x + warp * w.depth + std::int64_t(begin) * kTileDepth + lane * 8;
    constexpr int kPieces = Due ? kSteps / Due * 4 : 4; // pieces of 4 scales per tile and chunk
    const float* scaleRow = w.scales;
    if constexpr (Mode == ScaleMode::EachK) scaleRow += tileAt(0) * kTileRows / w.block * w.depth + 4 * lane;
    if constexpr (Mode == ScaleMode::Inner && Due != 0)
        scaleRow += tileAt(lane / kPieces % kTiles) * blocks.count * kTileRows + lane % 4 * 4;
    const auto fetch = [&](int turn) {
        const int first = begin + kStagedDeep * turn;
        if (first >= end) return;
        unsigned char* stage = memory + Part::kTable + turn % kCount * stageBytes;
        if (first + lane / 16 < end) {
#pragma unroll
            for (int c = 0; c < Groups; ++c)
                if (warp + 8 * c < to.m)
                    copyAsync(stage + (warp + 8 * c) * kStagedRowBytes + lane * 16,
                              xRow + 8 * c * w.depth + turn * kStagedDepth);
        }
        const int chunk = first + half;
        if (Mode == ScaleMode::Channel || chunk >= end) return;
        auto* scales = reinterpret_cast<float*>(stage + Stages::kXBytes) + warp * Stages::scales(due);
        if constexpr (Mode == ScaleMode::EachK)
            copyAsync(scales + 4 * lane, scaleRow + std::int64_t(chunk) * kTileDepth);
        if constexpr (Mode == ScaleMode::Inner && Due != 0) {
            static_assert(kTiles * kPieces <= 32);
            if (lane < kTiles * kPieces)
                copyAsync(scales + 4 * lane,
                          scaleRow + std::int64_t(blocks.of(chunk, lane % kPieces / 4 * due)) * kTileRows);
        }
        if constexpr (Mode == ScaleMode::Inner && Due == 0) {
            const int pieces = kSteps / due * 4;
            for (int i = lane; i < kTiles * pieces; i += 32)
                copyAsync(scales + 4 * i, blocks.at(w, tileAt(i / pieces), chunk, i % pieces / 4 * due) + i % 4 * 4);
        }
    };
    if (begin + half < end) {
#pragma unroll
        for (int r = 0; r < kTiles; ++r) ask(r, begin + half);
    }
#pragma unroll
    for (int turn = 0; turn < kCount - 1; ++turn) fetch(turn), closeGroup();
    if constexpr (Part::kTable != 0) Part::fillTable(table, w.levels);
    for (int stage = 0; stage < kCount; ++stage) // clear the rows beyond m
        for (int i = threadIdx.x; i < (kColumns - int(to.m)) * kStagedRowBytes / 16; i += kStagedThreads)
            reinterpret_cast<uint4*>(memory + Part::kTable + stage * stageBytes + to.m * kStagedRowBytes)[i] =
                make_uint4(0, 0, 0, 0);

    float total[kTiles][Groups][4] = {};
    for (int turn = 0; begin + kStagedDeep * turn < end; ++turn) {
        waitGroups<kCount - 2>();
        __syncthreads(); // now this stage is complete, and all warps have finished the previous one
        fetch(turn + kCount - 1);
        closeGroup(); // may be empty
        const int chunk = begin + kStagedDeep * turn + half;
        if (chunk >= end) continue;
        const unsigned char* stage = memory + Part::kTable + turn % kCount * stageBytes;
        const auto* scales = reinterpret_cast<const float*>(stage + Stages::kXBytes) + warp * Stages::scales(due);
        uint2 b[Groups][kSteps]; // x[column g][16j + 4t .. 16j + 4t + 3]
#pragma unroll
        for (int c = 0; c < Groups; ++c)
#pragma unroll
            for (int j = 0; j < kSteps; ++j)
                b[c][j] = *reinterpret_cast<const uint2*>(stage + (c * 8 + g) * kStagedRowBytes +
                                                          2 * (half * kTileDepth + 16 * j + 4 * t));
        if constexpr (Mode == ScaleMode::EachK)
            scaleInputs(b, [&](int j) { return reinterpret_cast<const float4*>(scales)[4 * j + t]; });
#pragma unroll
        for (int r = 0; r < kTiles; ++r) {
            multiplyPart<Mode>(part[r], decoder, b, due, total[r], [&](int j) {
                const float* s = scales + (r * (kSteps / due) + j / due) * kTileRows + g;
                return make_float2(s[0], s[8]);
            });
            if (chunk + kStagedDeep < end) ask(r, chunk + kStagedDeep);
        }
    }

    // [half][column][channel], in the memory of the table and the stages
    constexpr int kChannels = stagedChannels(Part::kBits), kSums = kColumns * kChannels;
    auto* partial = reinterpret_cast<float*>(memory);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kTiles; ++r)
#pragma unroll
        for (int c = 0; c < Groups; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                partial[half * kSums + (c * 8 + 2 * t + i % 2) * kChannels + (across * kTiles + r) * kTileRows + g +
                        i / 2 * 8] = total[r][c][i];
    __syncthreads();
    const auto finish = [&](int i, const float4& sum) { // four channels of a column
        const std::int64_t m = 4 * i / kChannels, n = std::int64_t(blockIdx.x) * kChannels + 4 * i % kChannels;
        const float four[4] = {sum.x, sum.y, sum.z, sum.w};
        if (m >= to.m) return;
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (n + j < to.n) store(to, m, n + j, Mode == ScaleMode::Channel ? four[j] * w.scales[n + j] : four[j]);
    };
    const auto added = [](const float4& a, const float4& b) {
        return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    };
    constexpr int kFours = kSums / 4, kEach = kFours / kStagedThreads;
    const auto* halves = reinterpret_cast<const float4*>(partial);
    if (gridDim.y == 1) {
        for (int i = threadIdx.x; i < kFours; i += kStagedThreads) finish(i, added(halves[i], halves[i + kFours]));
        return;
    }
    auto* left = reinterpret_cast<float4*>(room.sums) + std::int64_t(blockIdx.x) * gridDim.y * kFours;
    for (int i = threadIdx.x; i < kFours; i += kStagedThreads)
        left[blockIdx.y * kFours + i] = added(halves[i], halves[i + kFours]);
    static __shared__ bool last;
    __threadfence(); // the sums must be visible before the counter
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(room.finished + blockIdx.x, 1u) == gridDim.y - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    float4 all[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) all[e] = __ldcg(left + e * kStagedThreads + threadIdx.x);
#pragma unroll 2
    for (unsigned split = 1; split < gridDim.y; ++split)
#pragma unroll
        for (int e = 0; e < kEach; ++e)
            all[e] = added(all[e], __ldcg(left + split * kFours + e * kStagedThreads + threadIdx.x));
#pragma unroll
    for (int e = 0; e < kEach; ++e) finish(e * kStagedThreads + int(threadIdx.x), all[e]);
    if (threadIdx.x == 0) room.finished[blockIdx.x] = 0;
}

template<class Part, int Groups, ScaleMode Mode, int Due>
int launchStaged(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                 const Target& to, Stream stream) {
    using Own = Stage<Part, Groups, Mode, Due>;
    constexpr int kSumBytes = kStagedDeep * stagedChannels(Part::kBits) * 8 * Groups * 4;
    const int due = Due ? Due : Mode == ScaleMode::Inner ? stepsOfAScale(w.block) : kSteps;
    const int staging = Part::kTable + Own::kCount * Own::bytes(due), bytes = staging > kSumBytes ? staging : kSumBytes;
    const auto kernel = staged<Part, Groups, Mode, Due>;
    if (const auto code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes))
        return int(code);
    const dim3 grid(unsigned(shape.groups), unsigned(shape.splits));
    QS_LAUNCH(kernel, grid, kStagedThreads, bytes, stream, w, static_cast<const __nv_bfloat16*>(x), shape.chunks, room,
              to);
    return int(cudaGetLastError());
}

template<class Part, int Groups>
int stagedByMode(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                 const Target& to, Stream stream) {
    switch (w.mode) {
    case ScaleMode::Channel: return launchStaged<Part, Groups, ScaleMode::Channel, 8>(w, x, shape, room, to, stream);
    case ScaleMode::EachK: return launchStaged<Part, Groups, ScaleMode::EachK, 8>(w, x, shape, room, to, stream);
    case ScaleMode::Inner: break;
    }
    if constexpr (Part::kFewSteps) {
        const int steps = compiledSteps(Part::kBits, w.affine, w.mode, w.block);
        if (steps == 4) return launchStaged<Part, Groups, ScaleMode::Inner, 4>(w, x, shape, room, to, stream);
        if (steps == 8) return launchStaged<Part, Groups, ScaleMode::Inner, 8>(w, x, shape, room, to, stream);
    }
    return launchStaged<Part, Groups, ScaleMode::Inner, 0>(w, x, shape, room, to, stream);
}

template<class Part>
int stagedByShape(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                  const Target& to, Stream stream) {
    if (shape.columns == 8) return stagedByMode<Part, 1>(w, x, shape, room, to, stream);
    return stagedByMode<Part, 2>(w, x, shape, room, to, stream);
}

} // namespace qs::cuda
