// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Error sums that a quantizer measures on the way, all in f64. Every thread adds its own, and a block writes four
// numbers. One more block adds those in order, so that the same input always gives the same sums.

#include "kernels/cuda/grid.cuh"

namespace qs::cuda {

template<bool On> struct Measured {
    __device__ __forceinline__ void add(float, float) {}
    __device__ __forceinline__ void leave(double*) {}
    __device__ __forceinline__ void leaveOfBlock(double*) {}
};

template<> struct Measured<true> {
    double se2 = 0, sw2 = 0, most = 0;
    float top = 0;
    /// Like fmax(), but without its handling of NaN and -0, which takes three more instructions.
    __device__ __forceinline__ void larger(double other) { most = other > most ? other : most; }
    /// Adds one element: w is the original value, v the decoded one.
    __device__ __forceinline__ void add(float w, float v) {
        const double e = double(v) - double(w), x = double(w);
        se2 = fma(e, e, se2), sw2 = fma(x, x, sw2);
        larger(fabs(e)), top = fmaxf(top, fabsf(w));
    }
    __device__ __forceinline__ void join(double otherSe2, double otherSw2, double otherMost, float otherTop) {
        se2 += otherSe2, sw2 += otherSw2;
        larger(otherMost), top = fmaxf(top, otherTop);
    }
    /// Writes the sums of the block. All threads of the block must call it once.
    __device__ void leave(double* to) {
        static __shared__ double warps[32][4];
        for (int offset = 16; offset; offset /= 2) {
            const double a = __shfl_xor_sync(0xffffffffu, se2, offset), b = __shfl_xor_sync(0xffffffffu, sw2, offset);
            const double c = __shfl_xor_sync(0xffffffffu, most, offset);
            join(a, b, c, __shfl_xor_sync(0xffffffffu, top, offset));
        }
        const int warp = threadIdx.x / 32;
        if (threadIdx.x % 32 == 0)
            warps[warp][0] = se2, warps[warp][1] = sw2, warps[warp][2] = most, warps[warp][3] = double(top);
        __syncthreads();
        if (threadIdx.x != 0) return;
        for (int i = 1; i < int(blockDim.x / 32); ++i) join(warps[i][0], warps[i][1], warps[i][2], float(warps[i][3]));
        to[0] = se2, to[1] = sw2, to[2] = most, to[3] = double(top);
    }
    __device__ void leaveOfBlock(double* partials) { leave(partials + 4 * blockIdx.x); }
};

} // namespace qs::cuda
