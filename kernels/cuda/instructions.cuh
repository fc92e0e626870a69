// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What exists only on a device: the launch, the matrix instruction and asynchronous copies. The tests have another file
// with this name that does the same on the host.

#include <cstdint>
#include <cuda_bf16.h>

#define QS_LAUNCH(kernel, grid, threads, bytes, stream, ...) kernel<<<grid, threads, bytes, stream>>>(__VA_ARGS__)

namespace qs::cuda {

/// d += a b. a is 16x16 bf16, b is 16x8 bf16, d is 16x8 f32.
__device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// a & b | c in one instruction. With two constants nvcc would use two.
__device__ __forceinline__ std::uint32_t andOr(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t d;
    asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
/// a b + c for both bf16 halves, rounded once.
__device__ __forceinline__ std::uint32_t fusedBf16(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

/// threadIdx.x % 32, read from a register. A masked value would be masked again at every use.
__device__ __forceinline__ int laneOfWarp() {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return int(lane);
}

/// A clock of the device, in nanoseconds.
__device__ __forceinline__ std::uint64_t nanoseconds() {
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/// Starts an asynchronous copy of 16 bytes from global to shared memory.
__device__ __forceinline__ void copyAsync(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(unsigned(__cvta_generic_to_shared(to))),
                 "l"(from));
}
/// Closes the group of copies started so far.
__device__ __forceinline__ void closeGroup() { asm volatile("cp.async.commit_group;\n"); }
/// Waits until at most `Pending` groups are unfinished.
template<int Pending> __device__ __forceinline__ void waitGroups() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(Pending));
}

} // namespace qs::cuda
