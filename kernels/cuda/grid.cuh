// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How elementwise work is divided into blocks of threads.

#include "kernels/cuda/fragments.cuh"

namespace qs::cuda {

inline constexpr unsigned kThreads = 256;
inline unsigned blocksFor(std::int64_t count) {
    const std::int64_t blocks = (count + kThreads - 1) / kThreads;
    return unsigned(blocks < 1 ? 1 : blocks < (1 << 20) ? blocks : (1 << 20));
}
__device__ __forceinline__ std::int64_t firstIndex() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ std::int64_t indexStep() { return std::int64_t(gridDim.x) * blockDim.x; }
// Matrices are divided by rows of the grid. A 64-bit division would take a hundred instructions, more than the rest of
// the work.
inline constexpr std::int64_t kMostRows = 65535;
inline dim3 gridOf(std::int64_t rows, std::int64_t perRow) {
    const std::int64_t wide = (perRow + kThreads - 1) / kThreads;
    return dim3(unsigned(wide < 1 ? 1 : wide), unsigned(rows < kMostRows ? rows : kMostRows));
}
__device__ __forceinline__ std::int64_t rowStep() { return std::int64_t(gridDim.y); }

} // namespace qs::cuda
