// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Few rows of x. Every warp reads its own part of the weights as a stream, 16 bytes per lane and load, and decodes it
// in registers. The tensor core multiplies it by up to 32 rows of x at once. The warps of a block divide k between
// them. Loads for the next turn are started before this turn is multiplied. The first loads start before the table is
// filled.

#include "kernels/cuda/fragments.cuh"

namespace qs::cuda {

/// ScaleMode::Inner: the scales of channels g and g + 8 of a tile, stored at the last step of each block within a
/// chunk.
struct ChunkScales {
    float lower[kSteps], upper[kSteps];
    /// `first`: the first scale of the lane's channel.
    __device__ __forceinline__ void load(const float* first, const ScaleBlocks& blocks, int due, int chunk) {
#pragma unroll
        for (int j = 0; j < kSteps; ++j) {
            if (((j + 1) & (due - 1)) != 0) continue;
            const float* s = first + std::int64_t(blocks.of(chunk, j)) * kTileRows;
            lower[j] = __ldg(s), upper[j] = __ldg(s + 8);
        }
    }
};

/// `Due`: steps for which one scale of ScaleMode::Inner holds; 0: known at run time only.
template<class Part, int Rows, int Groups, ScaleMode Mode, int Due>
__global__ void __launch_bounds__(256) skinny(DeviceWeight w, const __nv_bfloat16* __restrict__ x, Target to) {
    extern __shared__ std::uint32_t shared[];
    const int lane = laneOfWarp(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int g = lane / 4, t = lane % 4;
    const std::int64_t firstTile = std::int64_t(blockIdx.x) * Rows;
    const int deep = int(w.depth / kTileDepth);
    const std::int64_t firstColumn = std::int64_t(blockIdx.y) * Groups * 8;
    const ScaleBlocks blocks(w, Mode == ScaleMode::Inner);
    const int due = Due ? Due : blocks.due;
    constexpr bool kScalesAhead = Mode == ScaleMode::Inner && Rows == 1; // two rows would need too many registers
    // Small loads start several turns ahead, because they would leave the memory idle. As measured on an H200 with one row of x, 8192
    // channels and k = 28672: 4 bits, 1 turn 67 us, 4 turns 61 us; 2 bits, 2 turns 29 us, 8 turns 44 us; 8 bits, no difference.
    constexpr int kAhead = Rows > 1 ? 1 : Part::kBits == 4 && Groups == 1 ? 4 : Part::kBits == 2 ? 2 : 1;
    constexpr int kTurnsOfScales = Due ? kAhead : 1; // a scale for every step would need too many registers
    Part next[kAhead][Rows];
    ChunkScales nextScales[kTurnsOfScales];
    const std::uint8_t* codes = w.codes + firstTile * deep * tileBytes(Part::kBits);
    const float* firstScale = blocks.first(w, firstTile) + g;
    const auto ask = [&](int chunk, Part(&to)[Rows]) {
        if (chunk >= deep) return;
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            if (r == 0 || firstTile + r < w.tiles)
                to[r].load(codes + (std::int64_t(r) * deep + chunk) * tileBytes(Part::kBits), lane, true);
    };
    const auto askScales = [&](int chunk, ChunkScales& to) {
        if constexpr (kScalesAhead)
            if (chunk < deep) to.load(firstScale, blocks, due, chunk);
    };
#pragma unroll
    for (int turn = 0; turn < kAhead; ++turn) ask(warp + turn * warps, next[turn]);
#pragma unroll
    for (int turn = 0; turn < kTurnsOfScales; ++turn) askScales(warp + turn * warps, nextScales[turn]);
    if constexpr (Part::kTable != 0) {
        Part::fillTable(shared, w.levels);
        __syncthreads();
    }
    const auto decoder = Part::decoder(shared, w, lane);
    const uint2* ofX[Groups]; // null beyond m
#pragma unroll
    for (int c = 0; c < Groups; ++c) {
        const std::int64_t row = firstColumn + c * 8 + g;
        ofX[c] = row < to.m ? reinterpret_cast<const uint2*>(x + row * w.depth) + t : nullptr;
    }
    float total[Rows][Groups][4] = {};
    uint2 b[Groups][kSteps];             // x[column g][16j + 4t .. 16j + 4t + 3]
    constexpr bool kStays = Groups == 1; // values beyond m stay 0; with more groups this would use too many registers
#pragma unroll
    for (int j = 0; j < kSteps && kStays; ++j) b[0][j] = make_uint2(0, 0);
    for (int chunk = warp; chunk < deep; chunk += warps) {
        Part part[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) part[r] = next[0][r];
#pragma unroll
        for (int turn = 1; turn < kAhead; ++turn)
#pragma unroll
            for (int r = 0; r < Rows; ++r) next[turn - 1][r] = next[turn][r];
        ChunkScales scales = nextScales[0];
#pragma unroll
        for (int turn = 1; turn < kTurnsOfScales; ++turn) nextScales[turn - 1] = nextScales[turn];
        ask(chunk + kAhead * warps, next[kAhead - 1]);
        askScales(chunk + kTurnsOfScales * warps, nextScales[kTurnsOfScales - 1]);

#pragma unroll
        for (int c = 0; c < Groups; ++c) {
            if (ofX[c]) {
                const uint2* at = ofX[c] + std::int64_t(chunk) * (kTileDepth / 4);
#pragma unroll
                for (int j = 0; j < kSteps; ++j) b[c][j] = __ldg(at + 4 * j);
            } else if (!kStays) {
#pragma unroll
                for (int j = 0; j < kSteps; ++j) b[c][j] = make_uint2(0, 0);
            }
        }
        // Multiply the scale of each k into x; a warp has one block of channels.
        if constexpr (Mode == ScaleMode::EachK) {
            const auto* s = reinterpret_cast<const float4*>(w.scales + firstTile * kTileRows / w.block * w.depth +
                                                            std::int64_t(chunk) * kTileDepth) +
                            t;
            scaleInputs(b, [&](int j) { return __ldg(s + 4 * j); });
        }
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            if (r > 0 && firstTile + r >= w.tiles) break;
            if constexpr (Mode == ScaleMode::Inner && !kScalesAhead)
                scales.load(firstScale + r * blocks.count * kTileRows, blocks, due, chunk);
            multiplyPart<Mode>(part[r], decoder, b, due, total[r],
                               [&](int j) { return make_float2(scales.lower[j], scales.upper[j]); });
        }
    }

    // [warp][channel][column], in the memory of the table
    constexpr int kChannels = Rows * kTileRows, kColumns = Groups * 8;
    auto* partial = reinterpret_cast<float*>(shared);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int c = 0; c < Groups; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                partial[(warp * kChannels + r * kTileRows + g + i / 2 * 8) * kColumns + c * 8 + 2 * t + i % 2] =
                    total[r][c][i];
    __syncthreads();
    for (int i = threadIdx.x; i < kChannels * kColumns; i += blockDim.x) {
        // Neighbouring threads store neighbouring channels, so that the stores of a row of y are combined.
        const int channel = i % kChannels, column = i / kChannels;
        const std::int64_t n = firstTile * kTileRows + channel, m = firstColumn + column;
        if (n >= to.n || m >= to.m) continue;
        float sum = 0;
        for (int other = 0; other < warps; ++other) sum += partial[(other * kChannels + channel) * kColumns + column];
        if constexpr (Mode == ScaleMode::Channel) sum *= w.scales[n];
        store(to, m, n, sum);
    }
}

template<class Part, int Rows, int Groups, ScaleMode Mode, int Due>
int launchSkinny(const DeviceWeight& w, const void* x, int warps, const Target& to, Stream stream) {
    const std::size_t sums = std::size_t(warps) * Rows * kTileRows * Groups * 8 * sizeof(float);
    const std::size_t bytes = sums > std::size_t(Part::kTable) ? sums : std::size_t(Part::kTable);
    const dim3 grid(unsigned((w.tiles + Rows - 1) / Rows), unsigned((to.m + Groups * 8 - 1) / (Groups * 8)));
    const auto kernel = skinny<Part, Rows, Groups, Mode, Due>;
    QS_LAUNCH(kernel, grid, unsigned(warps * 32), bytes, stream, w, static_cast<const __nv_bfloat16*>(x), to);
    return int(cudaGetLastError());
}

template<class Part, ScaleMode Mode, int Due = kSteps>
int skinnyByShape(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream) {
    if (shape.columns == 8) return launchSkinny<Part, 1, 1, Mode, Due>(w, x, shape.warps, to, stream);
    if (shape.columns == 16) return launchSkinny<Part, 1, 2, Mode, Due>(w, x, shape.warps, to, stream);
    // Two tiles of channels per warp, unless a block of scales ends between them.
    if (Mode == ScaleMode::EachK && w.block % 32 != 0)
        return launchSkinny<Part, 1, 4, Mode, Due>(w, x, shape.warps, to, stream);
    return launchSkinny<Part, 2, 4, Mode, Due>(w, x, shape.warps, to, stream);
}

template<class Part>
int skinnyByMode(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream) {
    switch (w.mode) {
    case ScaleMode::Channel: return skinnyByShape<Part, ScaleMode::Channel>(w, x, shape, to, stream);
    case ScaleMode::Inner: break;
    case ScaleMode::EachK: return skinnyByShape<Part, ScaleMode::EachK>(w, x, shape, to, stream);
    }
    if constexpr (Part::kFewSteps) {
        const int steps = compiledSteps(Part::kBits, w.affine, w.mode, w.block);
        if (steps == 4) return skinnyByShape<Part, ScaleMode::Inner, 4>(w, x, shape, to, stream);
        if (steps == 8) return skinnyByShape<Part, ScaleMode::Inner, 8>(w, x, shape, to, stream);
    }
    return skinnyByShape<Part, ScaleMode::Inner, 0>(w, x, shape, to, stream);
}

} // namespace qs::cuda
