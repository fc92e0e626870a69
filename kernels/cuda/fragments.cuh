// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registers of mma.m16n8k16: how a lane decodes its part of a tile.

#include "kernels/cuda/affine.h"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/kernels.h"

namespace qs::cuda {

/// 32 KiB: every lane (or half lane) has its own copy of the table, so that lookups never conflict in a bank.
inline constexpr int kTableBytes = 32768;

__device__ __forceinline__ std::uint32_t packBf16(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
}
__device__ __forceinline__ float lowHalf(std::uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float highHalf(std::uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }
__device__ __forceinline__ std::uint32_t scaled(std::uint32_t pair, float low, float high) {
    return packBf16(__fmul_rn(lowHalf(pair), low), __fmul_rn(highHalf(pair), high));
}

/// Loads 16 bytes. `once`: the data is read once and may leave the cache first. Otherwise other blocks read it too. A
/// compile-time constant at every call.
__device__ __forceinline__ uint4 fetch(const uint4* at, bool once) { return once ? __ldcs(at) : __ldg(at); }

/// Looks up byte `i` of a word in a table with rows of 128 bytes, at `own` bytes within the row. Two instructions and
/// the load.
template<class Entry>
__device__ __forceinline__ Entry entryOf(const std::uint32_t* table, std::uint32_t word, int i, std::uint32_t own) {
    const std::uint32_t row = (i == 0 ? word << 7 : word >> (8 * i - 7)) & 0x7f80u;
    return *reinterpret_cast<const Entry*>(reinterpret_cast<const unsigned char*>(table) + (row | own));
}

/// What a lane decodes with: a table in shared memory, which the kernel fills, and the byte offset of the lane's own
/// copy.
struct Table {
    const std::uint32_t* entries;
    std::uint32_t own;
};
__device__ __forceinline__ std::uint32_t wordOf(const uint4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

/// The part of one tile that a lane holds, and its decoding for step j. a[0] and a[2] belong to channel g, a[1] and
/// a[3] to channel g + 8.
template<int Bits> struct Part;

template<> struct Part<4> {
    static constexpr int kBits = 4, kTable = kTableBytes;
    /// Also compiled for a fixed number of steps per scale, see compiledSteps()
    static constexpr bool kFewSteps = true;
    using Decoder = Table;
    uint4 lower, upper;
    __device__ __forceinline__ void load(const std::uint8_t* tile, int lane, bool once) {
        const auto* at = reinterpret_cast<const uint4*>(tile) + lane;
        lower = fetch(at, once), upper = fetch(at + 32, once);
    }
    __device__ __forceinline__ static Table decoder(const std::uint32_t* table, const DeviceWeight&, int lane) {
        return {table, unsigned(lane) * 4};
    }
    /// A row of the table holds the two values of a byte.
    __device__ __forceinline__ void decode(int j, const Table& table, std::uint32_t (&a)[4]) const {
        const std::uint32_t low = wordOf(lower, j / 2), up = wordOf(upper, j / 2);
        const int i = j % 2 * 2;
        const auto entry = [&](std::uint32_t word, int byte) {
            return entryOf<std::uint32_t>(table.entries, word, byte, table.own);
        };
        a[0] = entry(low, i), a[2] = entry(low, i + 1), a[1] = entry(up, i), a[3] = entry(up, i + 1);
    }
    __device__ static void fillTable(std::uint32_t* table, const float* levels) {
        for (int i = threadIdx.x; i < 256 * 8; i += blockDim.x) { // four copies per store
            const std::uint32_t pair = packBf16(levels[i / 8 & 15], levels[i / 8 >> 4]);
            reinterpret_cast<uint4*>(table)[i] = make_uint4(pair, pair, pair, pair);
        }
    }
};

template<> struct Part<2> {
    static constexpr int kBits = 2, kTable = kTableBytes;
    static constexpr bool kFewSteps = false;
    using Decoder = Table;
    uint4 both;
    __device__ __forceinline__ void load(const std::uint8_t* tile, int lane, bool once) {
        both = fetch(reinterpret_cast<const uint4*>(tile) + lane, once);
    }
    __device__ __forceinline__ static Table decoder(const std::uint32_t* table, const DeviceWeight&, int lane) {
        return {table, unsigned(lane % 16) * 8};
    }
    /// A row of the table holds the four values of a byte.
    __device__ __forceinline__ void decode(int j, const Table& table, std::uint32_t (&a)[4]) const {
        const uint2 first = entryOf<uint2>(table.entries, j < 4 ? both.x : both.y, j % 4, table.own);
        const uint2 second = entryOf<uint2>(table.entries, j < 4 ? both.z : both.w, j % 4, table.own);
        a[0] = first.x, a[2] = first.y, a[1] = second.x, a[3] = second.y;
    }
    __device__ static void fillTable(std::uint32_t* table, const float* levels) {
        for (int i = threadIdx.x; i < 256 * 8; i += blockDim.x) { // two copies per store
            const int byte = i / 8;
            const std::uint32_t first = packBf16(levels[byte & 3], levels[(byte >> 2) & 3]);
            const std::uint32_t second = packBf16(levels[(byte >> 4) & 3], levels[byte >> 6]);
            reinterpret_cast<uint4*>(table)[i] = make_uint4(first, second, first, second);
        }
    }
};

/// 2-bit codes in affine tiles: no table.
struct Affine2 {
    static constexpr int kBits = 2, kTable = 0;
    static constexpr bool kFewSteps = true;
    struct Decoder {
        std::uint32_t terms[kAffinePlaces];
    };
    uint4 both;
    __device__ __forceinline__ void load(const std::uint8_t* tile, int lane, bool once) {
        both = fetch(reinterpret_cast<const uint4*>(tile) + lane, once);
    }
    __device__ __forceinline__ static Decoder decoder(const std::uint32_t*, const DeviceWeight& w, int) {
        Decoder to;
#pragma unroll
        for (int p = 0; p < kAffinePlaces; ++p)
            to.terms[p] = packBf16(affineTerm(w.offset, p), affineTerm(w.offset, p));
        return to;
    }
    /// Decodes pair `i` of the eight pairs of a word.
    __device__ __forceinline__ static std::uint32_t pair(std::uint32_t word, int i, const Decoder& decoder) {
        const int p = i % kAffinePlaces;
        const std::uint32_t shifted = word >> (i / kAffinePlaces * 2 * kAffinePlaces);
        const std::uint32_t above128 = andOr(shifted, 0x00030003u << (2 * p), 0x43004300u);
        const std::uint32_t factor = (0x3f80u - unsigned(p) * 0x100u) * 0x10001u; // affineFactor(p) in both halves
        return fusedBf16(above128, factor, decoder.terms[p]);
    }
    __device__ __forceinline__ void decode(int j, const Decoder& decoder, std::uint32_t (&a)[4]) const {
        const std::uint32_t low = wordOf(both, j / 4), up = wordOf(both, 2 + j / 4);
        const int i = j % 4 * 2;
        a[0] = pair(low, i, decoder), a[2] = pair(low, i + 1, decoder);
        a[1] = pair(up, i, decoder), a[3] = pair(up, i + 1, decoder);
    }
    __device__ static void fillTable(std::uint32_t*, const float*) {}
};

template<> struct Part<8> {
    static constexpr int kBits = 8, kTable = 0;
    static constexpr bool kFewSteps = false;
    struct Decoder {};
    uint4 lower[2], upper[2];
    __device__ __forceinline__ void load(const std::uint8_t* tile, int lane, bool once) {
        const auto* at = reinterpret_cast<const uint4*>(tile) + lane;
        lower[0] = fetch(at, once), lower[1] = fetch(at + 32, once);
        upper[0] = fetch(at + 64, once), upper[1] = fetch(at + 96, once);
    }
    /// Converts four signed bytes to two bf16 pairs, exactly. 2^23 + an unsigned byte is a float whose low byte is that
    /// byte.
    __device__ __forceinline__ static void pairs(std::uint32_t bytes, std::uint32_t& first, std::uint32_t& second) {
        const std::uint32_t u = bytes ^ 0x80808080u;
        const float offset = 8388736.0f; // 2^23 + 128
        first = packBf16(__uint_as_float(__byte_perm(u, 0x4B000000u, 0x7440)) - offset,
                         __uint_as_float(__byte_perm(u, 0x4B000000u, 0x7441)) - offset);
        second = packBf16(__uint_as_float(__byte_perm(u, 0x4B000000u, 0x7442)) - offset,
                          __uint_as_float(__byte_perm(u, 0x4B000000u, 0x7443)) - offset);
    }
    __device__ __forceinline__ static Decoder decoder(const std::uint32_t*, const DeviceWeight&, int) { return {}; }
    __device__ __forceinline__ void decode(int j, const Decoder&, std::uint32_t (&a)[4]) const {
        pairs(wordOf(lower[j / 4], j % 4), a[0], a[2]);
        pairs(wordOf(upper[j / 4], j % 4), a[1], a[3]);
    }
    __device__ static void fillTable(std::uint32_t*, const float*) {}
};

/// Division by a fixed number. A multiplication replaces the twenty instructions of a division.
struct Divisor {
    unsigned by = 1, inverse = 0; ///< inverse: 2^32 / by, rounded up
    Divisor() = default;
    __host__ __device__ explicit Divisor(unsigned by) : by(by), inverse(0xffffffffu / by + 1) {}
    __device__ __forceinline__ unsigned of(unsigned value) const {
        if (by == 1) return value;
        const unsigned quotient = __umulhi(value, inverse); // the quotient, or one more
        return quotient - (quotient * by > value ? 1 : 0);
    }
};

/// ScaleMode::Inner: finds the scale block of a step of 16.
struct ScaleBlocks {
    Divisor steps; ///< steps of a block
    int due;       ///< a scale holds for at least this many steps, from a multiple of it on: 1, 2, 4 or 8
    /// Number of blocks along k.
    std::int64_t count;
    __device__ __forceinline__ ScaleBlocks(const DeviceWeight& w, bool inner)
        : steps(inner ? unsigned(w.block / 16) : 1), due(inner ? stepsOfAScale(w.block) : 1),
          count(inner ? (w.depth + w.block - 1) / w.block : 0) {}
    __device__ __forceinline__ unsigned of(int chunk, int step) const {
        return steps.of(unsigned(chunk) * kSteps + unsigned(step));
    }
    /// The scale of channel 0 of a tile. The scales of its other channels follow, then those of the next block.
    __device__ __forceinline__ const float* first(const DeviceWeight& w, std::int64_t tile) const {
        return w.scales + tile * count * kTileRows;
    }
    __device__ __forceinline__ const float* at(const DeviceWeight& w, std::int64_t tile, int chunk, int step) const {
        return first(w, tile) + std::int64_t(of(chunk, step)) * kTileRows;
    }
};

/// Adds the sums of a scale block, times its scales, to the total, and clears them. d[0] and d[1] belong to channel g,
/// the others to channel g + 8.
template<int Groups>
__device__ __forceinline__ void joinScaled(float (&total)[Groups][4], float (&sum)[Groups][4], float lower,
                                           float upper) {
#pragma unroll
    for (int c = 0; c < Groups; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            total[c][i] = fmaf(sum[c][i], i < 2 ? lower : upper, total[c][i]);
            sum[c][i] = 0;
        }
}

/// ScaleMode::EachK: multiplies the scales of k into x. `scalesAt(j)`: those of the lane's four values of step j.
template<int Groups, class ScalesAt>
__device__ __forceinline__ void scaleInputs(uint2 (&b)[Groups][kSteps], ScalesAt scalesAt) {
#pragma unroll
    for (int j = 0; j < kSteps; ++j) {
        const float4 s = scalesAt(j);
#pragma unroll
        for (int c = 0; c < Groups; ++c) b[c][j] = make_uint2(scaled(b[c][j].x, s.x, s.y), scaled(b[c][j].y, s.z, s.w));
    }
}

/// Adds the products of a part of a tile with all groups of x to the total. ScaleMode::Inner: a scale holds for `due`
/// steps; `scalesAt(j)` are those of channels g and g + 8 after step j.
template<ScaleMode Mode, int Groups, class Part, class Decoder, class ScalesAt>
__device__ __forceinline__ void multiplyPart(const Part& part, const Decoder& decoder, const uint2 (&b)[Groups][kSteps],
                                             int due, float (&total)[Groups][4], ScalesAt scalesAt) {
    float sum[Groups][4] = {};
#pragma unroll
    for (int j = 0; j < kSteps; ++j) {
        std::uint32_t a[4];
        part.decode(j, decoder, a);
#pragma unroll
        for (int c = 0; c < Groups; ++c) mma(Mode == ScaleMode::Inner ? sum[c] : total[c], a, b[c][j].x, b[c][j].y);
        if (Mode == ScaleMode::Inner && ((j + 1) & (due - 1)) == 0) {
            const float2 s = scalesAt(j);
            joinScaled(total, sum, s.x, s.y);
        }
    }
}

/// Stores one result, with the bias.
__device__ __forceinline__ void store(const Target& to, std::int64_t m, std::int64_t n, float value) {
    if (to.bias) value += to.bias[n];
    if (to.bf16)
        static_cast<__nv_bfloat16*>(to.y)[m * to.n + n] = __float2bfloat16_rn(value);
    else
        static_cast<float*>(to.y)[m * to.n + n] = value;
}

} // namespace qs::cuda
