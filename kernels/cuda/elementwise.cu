// SPDX-License-Identifier: GPL-3.0-or-later
// Conversions, quantizers and the read stream. Compiled without contraction: the quantizers give the reference's bits.
#include "kernels/cuda/fragments.cuh"

#include <cfloat>

namespace qs::cuda {

int skinny2(const DeviceWeight&, const void*, SkinnyShape, const Target&, Stream);
int skinny4(const DeviceWeight&, const void*, SkinnyShape, const Target&, Stream);
int skinny8(const DeviceWeight&, const void*, SkinnyShape, const Target&, Stream);
int large2(const DeviceWeight&, const void*, const Target&, Stream);
int large4(const DeviceWeight&, const void*, const Target&, Stream);
int large8(const DeviceWeight&, const void*, const Target&, Stream);

int skinnyProduct(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream) {
    if (w.bits == 2) return skinny2(w, x, shape, to, stream);
    if (w.bits == 4) return skinny4(w, x, shape, to, stream);
    return skinny8(w, x, shape, to, stream);
}
int largeProduct(const DeviceWeight& w, const void* x, const Target& to, Stream stream) {
    if (w.bits == 2) return large2(w, x, to, stream);
    if (w.bits == 4) return large4(w, x, to, stream);
    return large8(w, x, to, stream);
}

namespace {

constexpr unsigned kThreads = 256;
unsigned blocksFor(std::int64_t count) {
    const std::int64_t blocks = (count + kThreads - 1) / kThreads;
    return unsigned(blocks < 1 ? 1 : blocks < (1 << 20) ? blocks : (1 << 20));
}
__device__ __forceinline__ std::int64_t firstIndex() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ std::int64_t indexStep() { return std::int64_t(gridDim.x) * blockDim.x; }

// Matrices by rows of the grid: a division of 64 bits takes a hundred instructions, more than all the rest.
constexpr std::int64_t kMostRows = 65535;
dim3 gridOf(std::int64_t rows, std::int64_t perRow) {
    const std::int64_t wide = (perRow + kThreads - 1) / kThreads;
    return dim3(unsigned(wide < 1 ? 1 : wide), unsigned(rows < kMostRows ? rows : kMostRows));
}
__device__ __forceinline__ std::int64_t rowStep() { return std::int64_t(gridDim.y); }

/// Four neighbours as bf16.
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

/// Largest magnitude over the block's threads, in every thread.
__device__ float blockMax(float value) {
    static __shared__ float warps[32];
    for (int offset = 16; offset; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads(); // a former call's readers are done
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0.0f;
    for (int offset = 16; offset; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

__device__ __forceinline__ std::int8_t toInt8(float x, float scale) { // half to even
    return std::int8_t(__float2int_rn(fminf(fmaxf(rintf(__fdiv_rn(x, scale)), -127.0f), 127.0f)));
}

/// One block a group of a row; groups of a row follow each other. Columns beyond k, up to `stored`, become 0.
__global__ void int8Groups(const float* x, std::int64_t m, std::int64_t k, std::int64_t group, std::int64_t groups,
                           std::int64_t stored, std::int8_t* q, float* scales) {
    const std::int64_t row = blockIdx.x / groups, part = blockIdx.x % groups;
    const std::int64_t begin = part * group, end = begin + group < k ? begin + group : k;
    const float* from = x + row * k;
    std::int8_t* to = q + row * stored;
    const bool fours = k % 4 == 0 && group % 4 == 0 && stored % 4 == 0;
    float top = 0;
    if (row < m && fours)
        for (std::int64_t i = begin + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
            const float4 v = *reinterpret_cast<const float4*>(from + i);
            top = fmaxf(top, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
        }
    else if (row < m)
        for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) top = fmaxf(top, fabsf(from[i]));
    top = blockMax(top);
    const float scale = __fadd_rn(__fdiv_rn(top, 127.0f), FLT_MIN);
    if (threadIdx.x == 0) scales[row * groups + part] = scale;
    const std::int64_t last = part == groups - 1 ? stored : end;
    if (!fours) {
        for (std::int64_t i = begin + threadIdx.x; i < last; i += blockDim.x)
            to[i] = row < m && i < end ? toInt8(from[i], scale) : std::int8_t(0);
        return;
    }
    for (std::int64_t i = begin + 4 * threadIdx.x; i < last; i += 4 * blockDim.x) {
        std::uint32_t four = 0;
        if (row < m && i < end) {
            const float4 v = *reinterpret_cast<const float4*>(from + i);
            four = std::uint8_t(toInt8(v.x, scale)) | std::uint32_t(std::uint8_t(toInt8(v.y, scale))) << 8 |
                   std::uint32_t(std::uint8_t(toInt8(v.z, scale))) << 16 |
                   std::uint32_t(std::uint8_t(toInt8(v.w, scale))) << 24;
        }
        *reinterpret_cast<std::uint32_t*>(to + i) = four;
    }
}

/// Whole blocks of 64 that follow each other: half a warp a block, four blocks a half warp and turn, so that 2 KiB a
/// warp are under way. A bucket of v holds one threshold at most, as they are more than 1/15 apart, so one comparison
/// decides: the bucket does not fall when v rises, thresholds of lower buckets are below v, those of higher ones above.
constexpr int kBuckets = 32;
__device__ __forceinline__ int bucketOf(float v) {                           // v within -1 to 1, or NaN: any bucket
    return int(__float_as_uint(__fmaf_rn(v, 15.0f, 8388624.0f)) % kBuckets); // 2^23 + 16: 1 to 31
}
__global__ void nf4Blocks64(const float4* x, std::int64_t blocks, const float* thresholds, std::uint16_t* codes,
                            float* absmax) {
    static __shared__ float limit[kBuckets];
    static __shared__ unsigned lower[kBuckets]; // thresholds in lower buckets
    if (threadIdx.x < kBuckets) {
        const int bucket = int(threadIdx.x);
        float own = INFINITY;
        unsigned count = 0;
        for (int j = 0; j < 15; ++j) {
            const int at = bucketOf(thresholds[j]);
            count += at < bucket;
            if (at == bucket) own = thresholds[j];
        }
        limit[bucket] = own, lower[bucket] = count;
    }
    __syncthreads();
    constexpr int kTurns = 4;
    const int lane = threadIdx.x % 32, half = lane / 16, sub = lane % 16;
    for (std::int64_t first = firstIndex() / 32 * 2 * kTurns; first < blocks; first += indexStep() / 32 * 2 * kTurns) {
        float4 v[kTurns];
        float top[kTurns];
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
            const std::int64_t block = first + 2 * turn + half;
            v[turn] = block < blocks ? __ldcs(x + block * 16 + sub) : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
            float most = fmaxf(fmaxf(fabsf(v[turn].x), fabsf(v[turn].y)), fmaxf(fabsf(v[turn].z), fabsf(v[turn].w)));
            for (int offset = 8; offset; offset /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
            top[turn] = most;
        }
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
            const std::int64_t block = first + 2 * turn + half;
            if (block >= blocks) continue;
            const float divisor = __fadd_rn(top[turn], FLT_MIN);
            const auto code = [&](float value) {
                const float q = __fdiv_rn(value, divisor);
                const int bucket = bucketOf(q);
                return q == q ? lower[bucket] + unsigned(q >= limit[bucket]) : 0u;
            };
            const unsigned low = code(v[turn].x) << 4 | code(v[turn].y), high = code(v[turn].z) << 4 | code(v[turn].w);
            codes[block * 16 + sub] = std::uint16_t(low | high << 8);
            if (sub == 0) absmax[block] = top[turn];
        }
    }
}

/// One warp a block of nf4; two codes a lane and turn.
__global__ void nf4Blocks(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t block,
                          std::int64_t blocks, const float* thresholds, std::uint8_t* codes, float* absmax) {
    static __shared__ float limit[15];
    if (threadIdx.x < 15) limit[threadIdx.x] = thresholds[threadIdx.x];
    __syncthreads();
    const std::int64_t warp = firstIndex() / 32;
    const int lane = threadIdx.x % 32;
    if (warp >= rows * blocks) return;
    const std::int64_t row = warp / blocks, begin = warp % blocks * block;
    const std::int64_t end = begin + block < columns ? begin + block : columns;
    float top = 0;
    for (std::int64_t i = begin + lane; i < end; i += 32) top = fmaxf(top, fabsf(x[row * columns + i]));
    for (int offset = 16; offset; offset /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
    if (lane == 0) absmax[warp] = top;
    const float divisor = __fadd_rn(top, FLT_MIN);
    const auto code = [&](std::int64_t i) {
        const float v = i < end ? __fdiv_rn(x[row * columns + i], divisor) : 0.0f; // padding is 0
        unsigned count = 0;
        for (int j = 0; j < 15; ++j) count += v >= limit[j];
        return count;
    };
    std::uint8_t* to = codes + (row * blocks * block + begin) / 2;
    for (std::int64_t i = lane; i < block / 2; i += 32)
        to[i] = std::uint8_t(code(begin + 2 * i) << 4 | code(begin + 2 * i + 1));
}

/// One warp a group; a byte of codes a lane and turn. Groups fill their bytes, but for the last of a row.
__global__ void codeGroups(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group,
                           std::int64_t groups, Coding c, std::uint8_t* codes, float* scales) {
    static __shared__ std::uint32_t thresholds[256];
    static __shared__ std::uint8_t stored[256];
    for (int i = threadIdx.x; i <= c.count; i += blockDim.x) {
        if (i < c.count) thresholds[i] = c.thresholds[i];
        stored[i] = c.stored[i];
    }
    __syncthreads();
    c.thresholds = thresholds, c.stored = stored;
    const std::int64_t warp = firstIndex() / 32;
    const int lane = threadIdx.x % 32, perByte = 8 / c.bits;
    if (warp >= rows * groups) return;
    const std::int64_t row = warp / groups, begin = warp % groups * group;
    const std::int64_t end = begin + group < columns ? begin + group : columns;
    float top = 0;
    for (std::int64_t i = begin + lane; i < end; i += 32) top = fmaxf(top, fabsf(x[row * columns + i]));
    for (int offset = 16; offset; offset /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
    const GroupScale scale = scaleOf(c.rule, top, c.range);
    if (lane == 0 && scales) scales[warp] = scale.scale;
    std::uint8_t* to = codes + row * ((columns + perByte - 1) / perByte);
    for (std::int64_t i = begin / perByte + lane; i < (end + perByte - 1) / perByte; i += 32) {
        unsigned byte = 0;
        for (int place = 0; place < perByte; ++place) {
            const std::int64_t at = i * perByte + place;
            const unsigned code =
                at < end ? codeOf(c, __float_as_uint(__fdiv_rn(x[row * columns + at], scale.divisor))) : c.padding;
            byte |= code << shiftOf(c, place);
        }
        to[i] = std::uint8_t(byte);
    }
}

__global__ void integers(const std::int32_t* sums, std::int64_t ld, const float* xScale, const float* wScale,
                         Target to) {
    for (std::int64_t m = blockIdx.y; m < to.m; m += rowStep())
        for (std::int64_t n = firstIndex(); n < to.n; n += indexStep())
            store(to, m, n, float(sums[m * ld + n]) * xScale[m] * wScale[n]);
}
__global__ void floats(const float* sums, Target to) {
    for (std::int64_t m = blockIdx.y; m < to.m; m += rowStep())
        for (std::int64_t n = firstIndex(); n < to.n; n += indexStep()) store(to, m, n, sums[m * to.n + n]);
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

/// Four columns a thread and turn. Sizes are below 2^31, as are the blocks of scales. `whole`: rows of codes are whole
/// loads of four columns, rows of results whole stores.
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

__global__ void stream(const uint4* data, std::int64_t count, std::uint32_t* sink) {
    uint4 sum = make_uint4(0, 0, 0, 0);
    const std::int64_t step = indexStep();
    std::int64_t i = firstIndex();
    for (; i + 3 * step < count; i += 4 * step) { // four loads under way
        const uint4 a = __ldcs(data + i), b = __ldcs(data + i + step), c = __ldcs(data + i + 2 * step),
                    d = __ldcs(data + i + 3 * step);
        sum.x ^= a.x ^ b.x ^ c.x ^ d.x, sum.y ^= a.y ^ b.y ^ c.y ^ d.y;
        sum.z ^= a.z ^ b.z ^ c.z ^ d.z, sum.w ^= a.w ^ b.w ^ c.w ^ d.w;
    }
    for (; i < count; i += step) {
        const uint4 a = __ldcs(data + i);
        sum.x ^= a.x, sum.y ^= a.y, sum.z ^= a.z, sum.w ^= a.w;
    }
    const std::uint32_t all = sum.x ^ sum.y ^ sum.z ^ sum.w;
    if (all == 0x9E3779B9u) atomicAdd(sink, 1u); // hardly ever, but the compiler cannot know
}

} // namespace

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
int quantizeRows(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                 std::int8_t* q, float* scales, Stream s) {
    QS_LAUNCH(int8Groups, unsigned(mPadded), kThreads, 0, s, x, m, k, k, 1, depth, q, scales);
    return int(cudaGetLastError());
}
int quantizeInt8(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, std::int8_t* q,
                 float* scales, Stream s) {
    const std::int64_t groups = (columns + group - 1) / group;
    const unsigned threads = group <= 128 ? 64 : kThreads;
    QS_LAUNCH(int8Groups, unsigned(rows * groups), threads, 0, s, x, rows, columns, group, groups, columns, q, scales);
    return int(cudaGetLastError());
}
int quantizeNf4(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t block, const float* thresholds,
                std::uint8_t* codes, float* absmax, Stream s) {
    const std::int64_t blocks = (columns + block - 1) / block, warps = rows * blocks;
    if (block == 64 && columns % 64 == 0) {
        const std::int64_t wanted = (warps + 63) / 64, most = 4096; // more blocks would fill as many tables
        QS_LAUNCH(nf4Blocks64, unsigned(wanted < most ? wanted : most), 256, 0, s, reinterpret_cast<const float4*>(x),
                  warps, thresholds, reinterpret_cast<std::uint16_t*>(codes), absmax);
        return int(cudaGetLastError());
    }
    QS_LAUNCH(nf4Blocks, unsigned((warps + 7) / 8), 256, 0, s, x, rows, columns, block, blocks, thresholds, codes,
              absmax);
    return int(cudaGetLastError());
}
int quantizeBySearch(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, const Coding& coding,
                     std::uint8_t* codes, float* scales, Stream s) {
    const std::int64_t groups = (columns + group - 1) / group, warps = rows * groups;
    QS_LAUNCH(codeGroups, unsigned((warps + 7) / 8), 256, 0, s, x, rows, columns, group, groups, coding, codes, scales);
    return int(cudaGetLastError());
}
int finishIntegers(const std::int32_t* sums, std::int64_t ld, const float* xScale, const float* wScale,
                   const Target& to, Stream s) {
    QS_LAUNCH(integers, gridOf(to.m, to.n), kThreads, 0, s, sums, ld, xScale, wScale, to);
    return int(cudaGetLastError());
}
int finishFloats(const float* sums, const Target& to, Stream s) {
    QS_LAUNCH(floats, gridOf(to.m, to.n), kThreads, 0, s, sums, to);
    return int(cudaGetLastError());
}
int roundToBf16(const float* x, std::int64_t count, void* to, Stream s) {
    QS_LAUNCH(round16, blocksFor(count), kThreads, 0, s, x, count, static_cast<__nv_bfloat16*>(to));
    return int(cudaGetLastError());
}
int dequantize(const StoredMatrix& from, void* to, Element type, Stream s) {
    const dim3 blocks = gridOf(from.rows, (from.columns + 3) / 4);
    StoredMatrix w = from; // blocks beyond the matrix are one
    w.rowBlock = from.rowBlock < from.rows ? from.rowBlock : from.rows;
    w.columnBlock = from.columnBlock < from.columns ? from.columnBlock : from.columns;
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(from.codes) % 4 == 0 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
    const bool whole = aligned && from.columns % 4 == 0 && from.rowBytes % 4 == 0;
    if (type == Element::F32)
        QS_LAUNCH(decode, blocks, kThreads, 0, s, w, whole, static_cast<float*>(to));
    else
        QS_LAUNCH(decode, blocks, kThreads, 0, s, w, whole, static_cast<__nv_bfloat16*>(to));
    return int(cudaGetLastError());
}
int readStream(const void* data, std::int64_t bytes, std::uint32_t* sink, int processors, Stream s) {
    QS_LAUNCH(stream, unsigned(processors * 8), kThreads, 0, s, static_cast<const uint4*>(data), bytes / 16, sink);
    return int(cudaGetLastError());
}

} // namespace qs::cuda
