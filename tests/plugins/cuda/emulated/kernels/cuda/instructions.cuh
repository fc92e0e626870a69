// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Host version of kernels/cuda/instructions.cuh, for the emulated device. The threads of a block are fibers of one
// thread. They switch at barriers and at operations of a whole warp. If the threads of a block do not meet, the program
// ends.

#include "tests/plugins/cuda/emulated/clock.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ // one block runs at a time, so shared memory is static or global
#define __align__(bytes) __attribute__((aligned(bytes)))
#define QS_LAUNCH(kernel, grid, threads, bytes, stream, ...)                                                           \
    ((void)(stream), ::qs::cuda::emulated::launch(grid, threads, bytes, [&] { kernel(__VA_ARGS__); }))

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    dim3(unsigned x = 1, unsigned y = 1) : x(x), y(y) {}
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

using cudaError_t = int;
inline constexpr int cudaErrorInvalidValue = 1, cudaFuncAttributeMaxDynamicSharedMemorySize = 8;
inline int cudaGetLastError() { return 0; }
template<class Kernel> int cudaFuncSetAttribute(Kernel, int, int) { return 0; }

/// Rounds to nearest, ties to even; NaN stays NaN.
struct __nv_bfloat16 {
    std::uint16_t bits = 0;
    __nv_bfloat16() = default;
    explicit __nv_bfloat16(float value) {
        const auto f = std::bit_cast<std::uint32_t>(value);
        bits = std::uint16_t(std::isnan(value) ? 0x7fff : (f + 0x7fff + (f >> 16 & 1)) >> 16);
    }
};
struct __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }

inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline int __float2int_rn(float value) { return int(std::nearbyint(value)); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(std::uint64_t(a) * b >> 32); }
inline std::uint32_t __byte_perm(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t both = std::uint64_t(b) << 32 | a;
    std::uint32_t out = 0;
    for (int i = 0; i < 4; ++i) out |= std::uint32_t(both >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return out;
}
template<class T> T __ldg(const T* at) { return *at; }
template<class T> T __ldcs(const T* at) { return *at; }
template<class T> T __ldcg(const T* at) { return *at; }
inline std::uint32_t atomicAdd(std::uint32_t* to, std::uint32_t value) { return std::exchange(*to, *to + value); }
inline void __threadfence() {}

namespace qs::cuda::emulated {

struct Place {
    unsigned x = 0, y = 0;
};
extern Place thread, block, blockSize, gridSize; ///< of the running fiber

void launch(dim3 grid, unsigned threads, std::size_t sharedBytes, const std::function<void()>& kernel);
void barrier();
/// All 32 lanes give a value and get the values of all lanes. The result is valid until the second exchange after this.
inline constexpr std::size_t kMostExchanged = 32; ///< bytes
const void* exchange(const void* own, std::size_t bytes);
template<class T> const T* exchanged(const T& own) {
    static_assert(sizeof(T) <= kMostExchanged);
    return static_cast<const T*>(exchange(&own, sizeof own));
}
void copyLater(void* to, const void* from); ///< copies 16 bytes; they are NaN until waited for
void closeGroup();
void waitGroups(int pending);

} // namespace qs::cuda::emulated

#define threadIdx ::qs::cuda::emulated::thread
#define blockIdx ::qs::cuda::emulated::block
#define blockDim ::qs::cuda::emulated::blockSize
#define gridDim ::qs::cuda::emulated::gridSize
inline void __syncthreads() { qs::cuda::emulated::barrier(); }
template<class T> T __shfl_xor_sync(unsigned, T value, int mask) {
    return qs::cuda::emulated::exchanged(value)[(threadIdx.x % 32) ^ unsigned(mask)];
}

namespace qs::cuda {

/// By the description of mma.m16n8k16: lane 4g+t has rows g and g+8 of a and d, and column g of b.
inline void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    struct Registers {
        std::uint32_t a[4], b[2];
    };
    const Registers* all = emulated::exchanged(Registers{{a[0], a[1], a[2], a[3]}, {b0, b1}});
    const auto half = [](std::uint32_t pair, int k) {
        return double(std::bit_cast<float>(k % 2 ? pair & 0xffff0000u : pair << 16));
    };
    const int g = int(threadIdx.x % 32 / 4), t = int(threadIdx.x % 4);
    for (int i = 0; i < 4; ++i) {
        const int row = g + i / 2 * 8, column = 2 * t + i % 2;
        double sum = double(d[i]);
        for (int k = 0; k < 16; ++k) {
            const auto& ofA = all[row % 8 * 4 + k % 8 / 2];
            const auto& ofB = all[column * 4 + k % 8 / 2];
            sum += half(ofA.a[row / 8 + k / 8 * 2], k) * half(ofB.b[k / 8], k);
        }
        d[i] = float(sum);
    }
}
inline std::uint32_t andOr(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return (a & b) | c; }
/// Exact products and sums, which the kernels rely on. If f32 would have to round twice, the program ends.
inline std::uint32_t fusedBf16(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const auto half = [](std::uint32_t pair, int i) {
        return double(std::bit_cast<float>(i ? pair & 0xffff0000u : pair << 16));
    };
    std::uint32_t d = 0;
    for (int i = 0; i < 2; ++i) {
        const double exact = half(a, i) * half(b, i) + half(c, i);
        if (double(float(exact)) != exact) std::abort();
        d |= std::uint32_t(__nv_bfloat16(float(exact)).bits) << 16 * i;
    }
    return d;
}
inline int laneOfWarp() { return int(threadIdx.x % 32); }
inline std::uint64_t nanoseconds() { return emulated::clockNs += 1000; }
inline void copyAsync(void* to, const void* from) { emulated::copyLater(to, from); }
inline void closeGroup() { emulated::closeGroup(); }
template<int Pending> void waitGroups() { emulated::waitGroups(Pending); }

} // namespace qs::cuda
