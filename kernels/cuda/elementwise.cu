// SPDX-License-Identifier: GPL-3.0-or-later
// Padding of activations, the step after a product, the decoder, and the read stream.
#include "kernels/cuda/grid.cuh"

namespace qs::cuda {

int skinny2(const DeviceWeight&, const void*, SkinnyShape, const Target&, Stream);
int skinny2Affine(const DeviceWeight&, const void*, SkinnyShape, const Target&, Stream);
int skinny4(const DeviceWeight&, const void*, SkinnyShape, const Target&, Stream);
int skinny8(const DeviceWeight&, const void*, SkinnyShape, const Target&, Stream);
int large2(const DeviceWeight&, const void*, const Target&, Stream);
int large2Affine(const DeviceWeight&, const void*, const Target&, Stream);
int large4(const DeviceWeight&, const void*, const Target&, Stream);
int large8(const DeviceWeight&, const void*, const Target&, Stream);

int staged2(const DeviceWeight&, const void*, const StagedShape&, const StagedRoom&, const Target&, Stream);
int staged2Affine(const DeviceWeight&, const void*, const StagedShape&, const StagedRoom&, const Target&, Stream);
int staged4(const DeviceWeight&, const void*, const StagedShape&, const StagedRoom&, const Target&, Stream);
int staged8(const DeviceWeight&, const void*, const StagedShape&, const StagedRoom&, const Target&, Stream);

int skinnyProduct(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream) {
    if (w.affine) return skinny2Affine(w, x, shape, to, stream);
    if (w.bits == 2) return skinny2(w, x, shape, to, stream);
    if (w.bits == 4) return skinny4(w, x, shape, to, stream);
    return skinny8(w, x, shape, to, stream);
}
int stagedProduct(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                  const Target& to, Stream stream) {
    if (w.affine) return staged2Affine(w, x, shape, room, to, stream);
    if (w.bits == 2) return staged2(w, x, shape, room, to, stream);
    if (w.bits == 4) return staged4(w, x, shape, room, to, stream);
    return staged8(w, x, shape, room, to, stream);
}
int largeProduct(const DeviceWeight& w, const void* x, const Target& to, Stream stream) {
    if (w.affine) return large2Affine(w, x, to, stream);
    if (w.bits == 2) return large2(w, x, to, stream);
    if (w.bits == 4) return large4(w, x, to, stream);
    return large8(w, x, to, stream);
}

// Not unnamed: nvcc would put a hash of the path of the sources into the names of the kernels.
inline namespace elementwise {

/// Four neighbouring values as bf16.
__device__ __forceinline__ uint2 fourBf16(const float* x) {
    const float4 v = *reinterpret_cast<const float4*>(x);
    return make_uint2(packBf16(v.x, v.y), packBf16(v.z, v.w));
}
__device__ __forceinline__ uint2 fourBf16(const __nv_bfloat16* x) { return *reinterpret_cast<const uint2*>(x); }

template<class T>
__global__ void pad(const T* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                    __nv_bfloat16* to) {
    const bool fours = k % 4 == 0 && depth % 4 == 0;
    for (std::int64_t row = blockIdx.y; row < mPadded; row += rowStep())
        for (std::int64_t i = firstIndex(); i < (depth + 3) / 4; i += indexStep()) {
            const std::int64_t column = 4 * i;
            __nv_bfloat16* at = to + row * depth + column;
            if (fours) {
                const bool inside = row < m && column < k;
                *reinterpret_cast<uint2*>(at) = inside ? fourBf16(x + row * k + column) : make_uint2(0, 0);
                continue;
            }
            for (int j = 0; j < 4 && column + j < depth; ++j)
                at[j] = row < m && column + j < k ? __nv_bfloat16(x[row * k + column + j]) : __nv_bfloat16(0.0f);
        }
}
__global__ void padI8(const std::int8_t* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                      std::int8_t* to) {
    const bool fours = k % 4 == 0 && depth % 4 == 0;
    for (std::int64_t row = blockIdx.y; row < mPadded; row += rowStep())
        for (std::int64_t i = firstIndex(); i < (depth + 3) / 4; i += indexStep()) {
            const std::int64_t column = 4 * i;
            std::int8_t* at = to + row * depth + column;
            if (fours) {
                const bool inside = row < m && column < k;
                *reinterpret_cast<std::uint32_t*>(at) =
                    inside ? *reinterpret_cast<const std::uint32_t*>(x + row * k + column) : 0u;
                continue;
            }
            for (int j = 0; j < 4 && column + j < depth; ++j)
                at[j] = row < m && column + j < k ? x[row * k + column + j] : std::int8_t(0);
        }
}

__global__ void round16(const float* x, std::int64_t count, __nv_bfloat16* to) {
    for (std::int64_t i = firstIndex(); i < count; i += indexStep()) to[i] = __float2bfloat16_rn(x[i]);
}

__device__ __forceinline__ void put(float* to, float value) { *to = value; }
__device__ __forceinline__ void put(__nv_bfloat16* to, float value) { *to = __float2bfloat16_rn(value); }
__device__ __forceinline__ void putFour(float* to, const float (&v)[4]) {
    *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
}
__device__ __forceinline__ void putFour(__nv_bfloat16* to, const float (&v)[4]) {
    *reinterpret_cast<uint2*>(to) = make_uint2(packBf16(v[0], v[1]), packBf16(v[2], v[3]));
}

/// The step after a product: sums times both scales, or unchanged. A thread handles four columns of four rows per turn.
/// `whole`: all loads and stores are of four aligned values.
constexpr int kFinishedRows = 4;
template<class T, bool Scaled>
__global__ void finish(const T* sums, std::int64_t ld, const float* xScale, const float* wScale, bool whole,
                       Target to) {
    const std::int64_t fours = (to.n + 3) / 4;
    for (std::int64_t first = std::int64_t(blockIdx.y) * kFinishedRows; first < to.m;
         first += rowStep() * kFinishedRows)
        for (std::int64_t i = firstIndex(); i < fours; i += indexStep()) {
            const std::int64_t n = 4 * i;
            const int rows = to.m - first < kFinishedRows ? int(to.m - first) : kFinishedRows;
            if (!whole) {
                for (std::int64_t m = first; m < first + rows; ++m)
                    for (int j = 0; j < 4 && n + j < to.n; ++j) {
                        const float sum = float(sums[m * ld + n + j]);
                        store(to, m, n + j, Scaled ? sum * xScale[m] * wScale[n + j] : sum);
                    }
                continue;
            }
            struct alignas(16) Four {
                T v[4];
            };
            Four read[kFinishedRows];
#pragma unroll
            for (int r = 0; r < kFinishedRows; ++r)
                if (r < rows) read[r] = *reinterpret_cast<const Four*>(sums + (first + r) * ld + n);
            const float4 none = make_float4(0, 0, 0, 0);
            const float4 w = Scaled ? *reinterpret_cast<const float4*>(wScale + n) : none;
            const float4 bias = to.bias ? *reinterpret_cast<const float4*>(to.bias + n) : none;
            const float ofW[4] = {w.x, w.y, w.z, w.w}, ofBias[4] = {bias.x, bias.y, bias.z, bias.w};
#pragma unroll
            for (int r = 0; r < kFinishedRows; ++r) {
                if (r >= rows) break;
                const float ofX = Scaled ? xScale[first + r] : 1.0f;
                float value[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    value[j] = float(read[r].v[j]);
                    if constexpr (Scaled) value[j] = value[j] * ofX * ofW[j];
                    if (to.bias) value[j] += ofBias[j];
                }
                const std::int64_t at = (first + r) * to.n + n;
                if (to.bf16)
                    putFour(static_cast<__nv_bfloat16*>(to.y) + at, value);
                else
                    putFour(static_cast<float*>(to.y) + at, value);
            }
        }
}

/// Decodes any stored matrix, four columns per thread and turn. Sizes and scale blocks are below 2^31. `whole`: all
/// loads of codes and stores of results are for four columns and aligned.
template<class T> __global__ void decode(StoredMatrix w, bool whole, T* to) {
    static __shared__ float levels[256];
    for (int i = threadIdx.x; i < 1 << w.bits; i += blockDim.x) levels[i] = w.levels[i];
    __syncthreads();
    const unsigned mask = (1u << w.bits) - 1, columns = unsigned(w.columns), columnBlock = unsigned(w.columnBlock);
    const unsigned fours = (columns + 3) / 4;
    for (std::int64_t row = blockIdx.y; row < w.rows; row += rowStep()) {
        const std::uint8_t* codes = w.codes + row * w.rowBytes;
        const float* scales = w.scales ? w.scales + unsigned(row) / unsigned(w.rowBlock) * w.rowStride : nullptr;
        T* out = to + row * w.columns;
        for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < fours; i += gridDim.x * blockDim.x) {
            const unsigned column = 4 * i, firstBit = column * unsigned(w.bits) & 7u;
            const std::int64_t byte = std::int64_t(column) * w.bits / 8;
            unsigned word = 0;
            if (whole && w.bits == 8)
                word = *reinterpret_cast<const std::uint32_t*>(codes + byte);
            else if (whole && w.bits == 4)
                word = *reinterpret_cast<const std::uint16_t*>(codes + byte);
            else
                for (int j = 0; j < (w.bits + 1) / 2 && byte + j < w.rowBytes; ++j)
                    word |= unsigned(codes[byte + j]) << (8 * j);
            const bool oneScale = columnBlock % 4 == 0 || w.columnStride == 0;
            float scale = 1.0f;
            if (scales && oneScale) scale = scales[column / columnBlock * w.columnStride];
            float value[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const unsigned bit = firstBit + unsigned(j * w.bits), within = bit & 7u;
                const unsigned shift = w.highFirst ? bit - within + 8u - unsigned(w.bits) - within : bit;
                if (scales && !oneScale && column + j < columns)
                    scale = scales[(column + unsigned(j)) / columnBlock * w.columnStride];
                value[j] = __fmul_rn(levels[word >> shift & mask], scale);
            }
            if (whole)
                putFour(out + column, value);
            else
                for (int j = 0; j < 4 && column + j < columns; ++j) put(out + column + j, value[j]);
        }
    }
}

/// The codes for 16 bytes of results: 1 to 8 bytes.
template<int Bytes> struct CodeWords {
    unsigned words[Bytes == 8 ? 2 : 1];
    __device__ __forceinline__ void load(const std::uint8_t* at) {
        if constexpr (Bytes == 8) {
            const uint2 both = __ldcs(reinterpret_cast<const uint2*>(at));
            words[0] = both.x, words[1] = both.y;
        } else if constexpr (Bytes == 4)
            words[0] = __ldcs(reinterpret_cast<const std::uint32_t*>(at));
        else if constexpr (Bytes == 2)
            words[0] = __ldcs(reinterpret_cast<const std::uint16_t*>(at));
        else
            words[0] = __ldcs(at);
    }
};
__device__ __forceinline__ void putEight(__nv_bfloat16* to, const float* v) {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(packBf16(v[0], v[1]), packBf16(v[2], v[3]), packBf16(v[4], v[5]), packBf16(v[6], v[7]));
}

/// Decodes one run of codes, see groupOfRun(). A thread writes 16 bytes per turn and has four turns in flight.
template<int Bits, bool HighFirst, class T>
__global__ void decodeRun(const std::uint8_t* codes, const float* scales, const float* levels, unsigned count,
                          Divisor perScale, T* to) {
    static __shared__ float level[1 << Bits];
    for (int i = threadIdx.x; i < 1 << Bits; i += blockDim.x) level[i] = levels[i];
    __syncthreads();
    constexpr int kValues = 16 / sizeof(T), kBytes = kValues * Bits / 8, kTurns = 4;
    const unsigned step = gridDim.x * blockDim.x;
    for (unsigned first = blockIdx.x * blockDim.x + threadIdx.x; first < count; first += kTurns * step) {
        CodeWords<kBytes> code[kTurns];
        float scale[kTurns];
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
            const unsigned at = first + turn * step;
            if (at >= count) continue;
            code[turn].load(codes + std::int64_t(at) * kBytes);
            scale[turn] = scales ? __ldg(scales + perScale.of(at)) : 1.0f;
        }
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
            const unsigned at = first + turn * step;
            if (at >= count) continue;
            float value[kValues];
#pragma unroll
            for (int i = 0; i < kValues; ++i) {
                const int within = i * Bits % 8, bit = i * Bits - within + (HighFirst ? 8 - Bits - within : within);
                value[i] = __fmul_rn(level[code[turn].words[bit / 32] >> bit % 32 & ((1u << Bits) - 1)], scale[turn]);
            }
            if constexpr (kValues == 8)
                putEight(to + std::int64_t(at) * kValues, value);
            else
                putFour(to + std::int64_t(at) * kValues, value);
        }
    }
}

template<class T, bool Scaled>
int launchFinish(const T* sums, std::int64_t ld, const float* xScale, const float* wScale, const Target& to, Stream s) {
    const auto aligned = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
    const bool whole =
        to.n % 4 == 0 && ld % 4 == 0 && aligned(sums) && aligned(wScale) && aligned(to.bias) && aligned(to.y);
    const auto kernel = finish<T, Scaled>;
    QS_LAUNCH(kernel, gridOf((to.m + kFinishedRows - 1) / kFinishedRows, (to.n + 3) / 4), kThreads, 0, s, sums, ld,
              xScale, wScale, whole, to);
    return int(cudaGetLastError());
}

template<class T> int launchRun(const StoredMatrix& w, std::int64_t group, T* to, Stream s) {
    constexpr int kValues = 16 / sizeof(T);
    const auto kernel = w.bits == 2   ? decodeRun<2, false, T>
                        : w.bits == 8 ? decodeRun<8, false, T>
                        : w.highFirst ? decodeRun<4, true, T>
                                      : decodeRun<4, false, T>;
    const std::int64_t count = w.rows * w.columns / kValues, blocks = (count + 4 * kThreads - 1) / (4 * kThreads);
    const unsigned most = 4096; // every block fills a table, so more blocks cost more
    QS_LAUNCH(kernel, blocks < most ? unsigned(blocks) : most, kThreads, 0, s, w.codes, w.scales, w.levels,
              unsigned(count), Divisor(unsigned(group / kValues)), to);
    return int(cudaGetLastError());
}

/// Ends after `ns` nanoseconds.
__global__ void hold(std::uint64_t ns) {
    const std::uint64_t begin = nanoseconds();
    while (nanoseconds() - begin < ns) {
    }
}

/// Several passes read from the cache that all multiprocessors share: in each pass a block reads what another block
/// read before.
template<bool Cached> __global__ void stream(const uint4* data, std::int64_t count, int passes, std::uint32_t* sink) {
    uint4 sum = make_uint4(0, 0, 0, 0);
    const std::int64_t step = indexStep();
    const auto read = [&](std::int64_t i) { return Cached ? __ldcg(data + i) : __ldcs(data + i); };
    for (int pass = 0; pass < passes; ++pass) {
        const unsigned block = (blockIdx.x + unsigned(pass)) % gridDim.x;
        std::int64_t i = std::int64_t(block) * blockDim.x + threadIdx.x;
        for (; i + 3 * step < count; i += 4 * step) { // four loads in flight
            const uint4 a = read(i), b = read(i + step), c = read(i + 2 * step), d = read(i + 3 * step);
            sum.x ^= a.x ^ b.x ^ c.x ^ d.x, sum.y ^= a.y ^ b.y ^ c.y ^ d.y;
            sum.z ^= a.z ^ b.z ^ c.z ^ d.z, sum.w ^= a.w ^ b.w ^ c.w ^ d.w;
        }
        for (; i < count; i += step) {
            const uint4 a = read(i);
            sum.x ^= a.x, sum.y ^= a.y, sum.z ^= a.z, sum.w ^= a.w;
        }
    }
    const std::uint32_t all = sum.x ^ sum.y ^ sum.z ^ sum.w;
    if (all == kStreamSign) atomicAdd(sink, 1u); // almost never true, but the compiler does not know that
}

} // namespace elementwise

int padActivations(const void* x, Element type, std::int64_t m, std::int64_t k, std::int64_t mPadded,
                   std::int64_t depth, void* to, Stream s) {
    auto* out = static_cast<__nv_bfloat16*>(to);
    const dim3 blocks = gridOf(mPadded, (depth + 3) / 4);
    if (type == Element::F32)
        QS_LAUNCH(pad, blocks, kThreads, 0, s, static_cast<const float*>(x), m, k, mPadded, depth, out);
    else
        QS_LAUNCH(pad, blocks, kThreads, 0, s, static_cast<const __nv_bfloat16*>(x), m, k, mPadded, depth, out);
    return int(cudaGetLastError());
}
int padBytes(const std::int8_t* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
             std::int8_t* to, Stream s) {
    QS_LAUNCH(padI8, gridOf(mPadded, (depth + 3) / 4), kThreads, 0, s, x, m, k, mPadded, depth, to);
    return int(cudaGetLastError());
}
int finishIntegers(const std::int32_t* sums, std::int64_t ld, const float* xScale, const float* wScale,
                   const Target& to, Stream s) {
    return launchFinish<std::int32_t, true>(sums, ld, xScale, wScale, to, s);
}
int finishScaled(const float* sums, std::int64_t ld, const float* xScale, const float* wScale, const Target& to,
                 Stream s) {
    return launchFinish<float, true>(sums, ld, xScale, wScale, to, s);
}
int finishFloats(const float* sums, const Target& to, Stream s) {
    return launchFinish<float, false>(sums, to.n, nullptr, nullptr, to, s);
}
int roundToBf16(const float* x, std::int64_t count, void* to, Stream s) {
    QS_LAUNCH(round16, blocksFor(count), kThreads, 0, s, x, count, static_cast<__nv_bfloat16*>(to));
    return int(cudaGetLastError());
}
int dequantize(const StoredMatrix& from, void* to, Element type, Stream s) {
    const dim3 blocks = gridOf(from.rows, (from.columns + 3) / 4);
    StoredMatrix w = from; // blocks larger than the matrix are limited to its size
    w.rowBlock = from.rowBlock < from.rows ? from.rowBlock : from.rows;
    w.columnBlock = from.columnBlock < from.columns ? from.columnBlock : from.columns;
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(from.codes) % 4 == 0 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
    if (const std::int64_t group = groupOfRun(from, type);
        group && aligned && reinterpret_cast<std::uintptr_t>(from.codes) % 8 == 0) {
        if (type == Element::F32) return launchRun(from, group, static_cast<float*>(to), s);
        return launchRun(from, group, static_cast<__nv_bfloat16*>(to), s);
    }
    const bool whole = aligned && from.columns % 4 == 0 && from.rowBytes % 4 == 0;
    if (type == Element::F32)
        QS_LAUNCH(decode, blocks, kThreads, 0, s, w, whole, static_cast<float*>(to));
    else
        QS_LAUNCH(decode, blocks, kThreads, 0, s, w, whole, static_cast<__nv_bfloat16*>(to));
    return int(cudaGetLastError());
}
int readStream(const void* data, std::int64_t bytes, int passes, std::uint32_t* sink, int processors, Stream s) {
    const auto kernel = passes > 1 ? stream<true> : stream<false>;
    QS_LAUNCH(kernel, unsigned(processors * 8), kThreads, 0, s, static_cast<const uint4*>(data), bytes / 16, passes,
              sink);
    return int(cudaGetLastError());
}
int holdStream(std::uint64_t ns, Stream s) {
    QS_LAUNCH(hold, 1, 32, 0, s, ns);
    return int(cudaGetLastError());
}

} // namespace qs::cuda
