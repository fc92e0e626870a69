// SPDX-License-Identifier: GPL-3.0-or-later
// Quantizers. They give the bits of the reference, so they are compiled without contraction to fused multiply-adds.
#include "kernels/cuda/measuring.cuh"

#include <algorithm>
#include <cfloat>

namespace qs::cuda {
// Not unnamed: nvcc would put a hash of the path of the sources into the names of the kernels.
inline namespace quantizing {

/// The largest magnitude over all threads of the block, returned in every thread.
__device__ float blockMax(float value) {
    static __shared__ float warps[32];
    for (int offset = 16; offset; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads(); // readers of an earlier call have finished
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0.0f;
    for (int offset = 16; offset; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

/// Division by a fixed divisor with the bits of a real division: multiply by the reciprocal, then correct once. The
/// result is exact (Markstein) unless the product or its correction underflows. Quotients below 2^-20 may differ in the
/// last bit; no code changes there.
struct Reciprocal {
    float by, inverse; ///< 0: use real divisions
    __device__ __forceinline__ explicit Reciprocal(float divisor) {
        by = divisor, inverse = by >= 0x1p-60f && by <= 0x1p60f ? __frcp_rn(by) : 0.0f;
    }
    __device__ __forceinline__ float times(float x) const {
        const float q = __fmul_rn(x, inverse);
        return __fmaf_rn(-__fmaf_rn(q, by, -x), inverse, q); // this order keeps -0
    }
    /// Calls body with a function that returns the quotient of x. The way to divide is chosen once, not for every x.
    template<class Body> __device__ __forceinline__ void quotients(const Body& body) const {
        if (inverse != 0)
            body([&](float x) { return times(x); });
        else
            body([&](float x) { return __fdiv_rn(x, by); });
    }
};

// Codes of one byte: the scale for a largest magnitude, the code of x / scale, the value of a code. Half to even.
struct Int8Code {
    __device__ __forceinline__ static float scale(float top) { return __fadd_rn(__fdiv_rn(top, 127.0f), FLT_MIN); }
    // After adding 1.5 * 2^23, the low bits are the integer.
    __device__ __forceinline__ static std::uint8_t code(float q) {
        return std::uint8_t(__float_as_uint(__fadd_rn(fminf(fmaxf(q, -127.0f), 127.0f), 12582912.0f)));
    }
    __device__ __forceinline__ static float value(std::uint8_t code) { return float(std::int8_t(code)); }
};
struct E4m3Code {
    __device__ __forceinline__ static float scale(float top) { return scaleOf(ScaleRule::Float, top, kE4m3Most).scale; }
    __device__ __forceinline__ static std::uint8_t code(float q) {
        return std::uint8_t(e4m3Of(__float_as_uint(fminf(fmaxf(q, -kE4m3Most), kE4m3Most))));
    }
};

/// One block handles one group of a row per turn. The groups of a row follow each other. Columns beyond k, up to
/// `stored`, become 0. `Kept`: groups of four elements that a thread keeps in registers, see keepsRows(); 0: x is read
/// twice.
template<class Code, bool Measure, int Kept>
__global__ void byteGroups(const float* x, std::int64_t m, std::int64_t k, std::int64_t group, std::int64_t groups,
                           std::int64_t stored, std::int64_t count, std::uint8_t* q, float* scales, double* partials) {
    Measured<Measure> sums;
    const bool fours = k % 4 == 0 && group % 4 == 0 && stored % 4 == 0;
    for (std::int64_t at = blockIdx.x; at < count; at += gridDim.x) {
        const std::int64_t row = at / groups, part = at % groups;
        const std::int64_t begin = part * group, end = begin + group < k ? begin + group : k;
        const float* from = x + row * k;
        std::uint8_t* to = q + row * stored;
        float top = 0;
        [[maybe_unused]] float4 kept[Kept ? Kept : 1];
        const auto place = [&](int e) { return begin + 4 * (threadIdx.x + std::int64_t(e) * blockDim.x); };
        const auto most = [](const float4& v) {
            return fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
        };
        if constexpr (Kept != 0) {
#pragma unroll
            for (int e = 0; e < Kept; ++e)
                kept[e] = row < m && place(e) < end ? __ldcs(reinterpret_cast<const float4*>(from + place(e)))
                                                    : make_float4(0, 0, 0, 0);
#pragma unroll
            for (int e = 0; e < Kept; ++e) top = fmaxf(top, most(kept[e]));
        } else if (row < m && fours)
            for (std::int64_t i = begin + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
                top = fmaxf(top, most(*reinterpret_cast<const float4*>(from + i)));
            }
        else if (row < m)
            for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) top = fmaxf(top, fabsf(from[i]));
        const float scale = Code::scale(blockMax(top));
        if (threadIdx.x == 0) scales[row * groups + part] = scale;
        const std::int64_t last = part == groups - 1 ? stored : end;
        Reciprocal(scale).quotients([&](const auto& quotient) {
            const auto coded = [&](float value) {
                const std::uint8_t code = Code::code(quotient(value));
                if constexpr (Measure) sums.add(value, __fmul_rn(Code::value(code), scale));
                return code;
            };
            const auto put = [&](std::int64_t i, const float4& v) {
                std::uint32_t four = 0;
                if (row < m && i < end) {
                    four = coded(v.x) | std::uint32_t(coded(v.y)) << 8;
                    four |= std::uint32_t(coded(v.z)) << 16 | std::uint32_t(coded(v.w)) << 24;
                }
                *reinterpret_cast<std::uint32_t*>(to + i) = four;
            };
            if constexpr (Kept != 0) {
#pragma unroll
                for (int e = 0; e < Kept; ++e)
                    if (place(e) < last) put(place(e), kept[e]);
            } else if (fours)
                for (std::int64_t i = place(0); i < last; i += 4 * blockDim.x)
                    put(i, row < m && i < end ? *reinterpret_cast<const float4*>(from + i) : make_float4(0, 0, 0, 0));
            else
                for (std::int64_t i = begin + threadIdx.x; i < last; i += blockDim.x)
                    to[i] = row < m && i < end ? coded(from[i]) : std::uint8_t(0);
        });
    }
    sums.leaveOfBlock(partials);
}

/// nf4 in blocks of 64 that follow each other. Eight lanes handle a block, so that the scale costs little. A warp
/// handles eight blocks, so that 2 KiB are in flight. The values v fall into buckets that rise with v. Thresholds are
/// more than 1/15 apart, so a bucket contains at most one. So one comparison decides: thresholds in lower buckets are
/// below v, those in higher buckets above.
constexpr int kBuckets = 32;
__device__ __forceinline__ int bucketOf(float v) {                           // v within -1..1, or NaN: then any bucket
    return int(__float_as_uint(__fmaf_rn(v, 15.0f, 8388624.0f)) % kBuckets); // 2^23 + 16: buckets 1 to 31
}
template<bool Measure>
__global__ void nf4Blocks64(const float4* x, std::int64_t blocks, const float* thresholds, std::uint16_t* codes,
                            float* absmax, const float* levels, double* partials) {
    static __shared__ float level[16];
    if (Measure && threadIdx.x < 16) level[threadIdx.x] = levels[threadIdx.x];
    Measured<Measure> sums;
    // Bits of the threshold in the bucket; number of thresholds in lower buckets.
    static __shared__ uint2 buckets[kBuckets];
    if (threadIdx.x < kBuckets) {
        const int bucket = int(threadIdx.x);
        float own = INFINITY;
        unsigned count = 0;
        for (int j = 0; j < 15; ++j) {
            const int at = bucketOf(thresholds[j]);
            count += at < bucket;
            if (at == bucket) own = thresholds[j];
        }
        buckets[bucket] = make_uint2(__float_as_uint(own), count);
    }
    __syncthreads();
    constexpr int kTurns = 2, kAtOnce = 4, kEach = kTurns * kAtOnce; // blocks per warp
    const int lane = threadIdx.x % 32, own = lane / 8, sub = lane % 8;
    for (std::int64_t first = firstIndex() / 32 * kEach; first < blocks; first += indexStep() / 32 * kEach) {
        float4 v[kTurns][2];
        float top[kTurns];
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn)
#pragma unroll
            for (int part = 0; part < 2; ++part) {
                const std::int64_t block = first + turn * kAtOnce + own;
                v[turn][part] = block < blocks ? __ldcs(x + block * 16 + part * 8 + sub) : make_float4(0, 0, 0, 0);
            }
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
            const auto larger = [](const float4& v) {
                return fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
            };
            float most = fmaxf(larger(v[turn][0]), larger(v[turn][1]));
#pragma unroll
            for (int offset = 4; offset; offset /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
            top[turn] = most;
        }
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
            const std::int64_t block = first + turn * kAtOnce + own;
            if (block >= blocks) continue;
            Reciprocal(__fadd_rn(top[turn], FLT_MIN)).quotients([&](const auto& quotient) {
                const auto code = [&](float value) {
                    const float q = quotient(value);
                    const uint2 bucket = buckets[bucketOf(q)];
                    const unsigned found = q == q ? bucket.y + unsigned(q >= __uint_as_float(bucket.x)) : 0u;
                    if constexpr (Measure) sums.add(value, __fmul_rn(level[found], top[turn]));
                    return found;
                };
#pragma unroll
                for (int part = 0; part < 2; ++part) {
                    const float4& four = v[turn][part];
                    const unsigned low = code(four.x) << 4 | code(four.y), high = code(four.z) << 4 | code(four.w);
                    codes[block * 16 + part * 8 + sub] = std::uint16_t(low | high << 8);
                }
            });
            if (sub == 0) absmax[block] = top[turn];
        }
    }
    sums.leaveOfBlock(partials);
}

/// nf4 in blocks of any even size. One warp handles one block per turn, two codes per lane and step.
template<bool Measure>
__global__ void nf4Blocks(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t block,
                          std::int64_t blocks, const float* thresholds, std::uint8_t* codes, float* absmax,
                          const float* levels, double* partials) {
    static __shared__ float limit[15], level[16];
    if (threadIdx.x < 15) limit[threadIdx.x] = thresholds[threadIdx.x];
    if (Measure && threadIdx.x < 16) level[threadIdx.x] = levels[threadIdx.x];
    __syncthreads();
    Measured<Measure> sums;
    const int lane = threadIdx.x % 32;
    for (std::int64_t warp = firstIndex() / 32; warp < rows * blocks; warp += indexStep() / 32) {
        const std::int64_t row = warp / blocks, begin = warp % blocks * block;
        const std::int64_t end = begin + block < columns ? begin + block : columns;
        float top = 0;
        for (std::int64_t i = begin + lane; i < end; i += 32) top = fmaxf(top, fabsf(x[row * columns + i]));
        for (int offset = 16; offset; offset /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
        if (lane == 0) absmax[warp] = top;
        const float divisor = __fadd_rn(top, FLT_MIN);
        const auto code = [&](std::int64_t i) {
            const float value = i < end ? x[row * columns + i] : 0.0f; // padding is 0
            const float v = __fdiv_rn(value, divisor);
            unsigned count = 0;
            for (int j = 0; j < 15; ++j) count += v >= limit[j];
            if (Measure && i < end) sums.add(value, __fmul_rn(level[count], top));
            return count;
        };
        const std::int64_t to = (row * blocks * block + begin) / 2;
        for (std::int64_t i = lane; i < block / 2; i += 32)
            codes[to + i] = std::uint8_t(code(begin + 2 * i) << 4 | code(begin + 2 * i + 1));
    }
    sums.leaveOfBlock(partials);
}

/// Codes found by search. One warp handles one group per turn, one byte of codes per lane and step. Groups fill whole
/// bytes, except the last one of a row.
template<bool Measure>
__global__ void codeGroups(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group,
                           std::int64_t groups, Coding c, std::uint8_t* codes, float* scales, const float* levels,
                           double* partials) {
    static __shared__ std::uint32_t thresholds[256];
    static __shared__ std::uint8_t stored[256];
    static __shared__ float level[256];
    for (int i = threadIdx.x; i <= c.count; i += blockDim.x) {
        if (i < c.count) thresholds[i] = c.thresholds[i];
        stored[i] = c.stored[i];
    }
    if constexpr (Measure)
        for (int i = threadIdx.x; i < 1 << c.bits; i += blockDim.x) level[i] = levels[i];
    __syncthreads();
    c.thresholds = thresholds, c.stored = stored;
    Measured<Measure> sums;
    const int lane = threadIdx.x % 32, perByte = 8 / c.bits;
    for (std::int64_t warp = firstIndex() / 32; warp < rows * groups; warp += indexStep() / 32) {
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
                unsigned code = c.padding;
                if (at < end) {
                    const float value = x[row * columns + at];
                    code = codeOf(c, __float_as_uint(__fdiv_rn(value, scale.divisor)));
                    if constexpr (Measure) sums.add(value, __fmul_rn(level[code], scale.scale));
                }
                byte |= code << shiftOf(c, place);
            }
            to[i] = std::uint8_t(byte);
        }
    }
    sums.leaveOfBlock(partials);
}

/// Runs as one block. Adds the sums of all blocks in order.
__global__ void joinTotals(const double* partials, int count, double* totals) {
    Measured<true> sums;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        sums.join(partials[4 * i], partials[4 * i + 1], partials[4 * i + 2], float(partials[4 * i + 3]));
    sums.leave(totals);
}

unsigned blocksOf(std::int64_t wanted) {
    return unsigned(wanted < kMostQuantizerBlocks ? wanted : kMostQuantizerBlocks);
}

int joined(const Measuring& measuring, unsigned blocks, Stream s) {
    if (measuring.totals) QS_LAUNCH(joinTotals, 1, kThreads, 0, s, measuring.partials, int(blocks), measuring.totals);
    return int(cudaGetLastError());
}

unsigned threadsOfRow(std::int64_t k, std::int64_t group, std::int64_t stored) {
    if (keepsRows(k, group, stored)) return std::max(group, stored) <= 4 * kKeptFours * kThreads ? kThreads : 1024;
    return group <= 128 ? 64 : kThreads;
}

template<class Code>
int byteRows(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth, std::uint8_t* q,
             float* scales, Stream s) {
    const auto kernel = keepsRows(k, k, depth) ? byteGroups<Code, false, kKeptFours> : byteGroups<Code, false, 0>;
    QS_LAUNCH(kernel, blocksOf(mPadded), threadsOfRow(k, k, depth), 0, s, x, m, k, k, 1, depth, mPadded, q, scales,
              nullptr);
    return int(cudaGetLastError());
}

} // namespace quantizing

int quantizeRows(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                 std::int8_t* q, float* scales, Stream s) {
    return byteRows<Int8Code>(x, m, k, mPadded, depth, reinterpret_cast<std::uint8_t*>(q), scales, s);
}
int quantizeRowsE4m3(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                     std::uint8_t* q, float* scales, Stream s) {
    return byteRows<E4m3Code>(x, m, k, mPadded, depth, q, scales, s);
}
int quantizeInt8(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, std::int8_t* q,
                 float* scales, Stream s, const Measuring& measuring) {
    const std::int64_t groups = (columns + group - 1) / group, count = rows * groups;
    const unsigned threads = threadsOfRow(columns, group, columns), blocks = blocksOf(count);
    const bool keeps = keepsRows(columns, group, columns), measures = measuring.totals;
    const auto kernel =
        keeps      ? measures ? byteGroups<Int8Code, true, kKeptFours> : byteGroups<Int8Code, false, kKeptFours>
             : measures ? byteGroups<Int8Code, true, 0>
                   : byteGroups<Int8Code, false, 0>;
    QS_LAUNCH(kernel, blocks, threads, 0, s, x, rows, columns, group, groups, columns, count,
              reinterpret_cast<std::uint8_t*>(q), scales, measuring.partials);
    return joined(measuring, blocks, s);
}
int quantizeNf4(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t block, const float* thresholds,
                std::uint8_t* codes, float* absmax, Stream s, const Measuring& measuring) {
    const std::int64_t blocks = (columns + block - 1) / block, warps = rows * blocks;
    if (block == 64 && columns % 64 == 0) {
        // Every block fills a table, so more blocks cost more.
        const std::int64_t wanted = (warps + 63) / 64, most = 4096;
        const auto grid = unsigned(wanted < most ? wanted : most);
        const auto kernel = measuring.totals ? nf4Blocks64<true> : nf4Blocks64<false>;
        QS_LAUNCH(kernel, grid, kThreads, 0, s, reinterpret_cast<const float4*>(x), warps, thresholds,
                  reinterpret_cast<std::uint16_t*>(codes), absmax, measuring.levels, measuring.partials);
        return joined(measuring, grid, s);
    }
    const unsigned grid = blocksOf((warps + 7) / 8);
    const auto kernel = measuring.totals ? nf4Blocks<true> : nf4Blocks<false>;
    QS_LAUNCH(kernel, grid, kThreads, 0, s, x, rows, columns, block, blocks, thresholds, codes, absmax,
              measuring.levels, measuring.partials);
    return joined(measuring, grid, s);
}
int quantizeBySearch(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, const Coding& coding,
                     std::uint8_t* codes, float* scales, Stream s, const Measuring& measuring) {
    const std::int64_t groups = (columns + group - 1) / group, warps = rows * groups;
    const unsigned grid = blocksOf((warps + 7) / 8);
    const auto kernel = measuring.totals ? codeGroups<true> : codeGroups<false>;
    QS_LAUNCH(kernel, grid, kThreads, 0, s, x, rows, columns, group, groups, coding, codes, scales, measuring.levels,
              measuring.partials);
    return joined(measuring, grid, s);
}

} // namespace qs::cuda
