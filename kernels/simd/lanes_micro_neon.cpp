// SPDX-License-Identifier: GPL-3.0-or-later
#if defined(__aarch64__)

#include "kernels/simd/lane_sets.h"
#include "kernels/simd/target.h"

#include <arm_neon.h>

namespace qs {
namespace {

constexpr int kWidth = 1; // 6 rows x 4 registers
#define QS_QUADS
#include "kernels/simd/lanes_neon.h"
//
#include "kernels/simd/micro_text.h"

#define QS_ROWS(P)                                                                                                     \
    { micro<P, 1>, micro<P, 2>, micro<P, 3>, micro<P, 4>, micro<P, 5>, micro<P, 6> }
constexpr MicroKernel kF32[] = QS_ROWS(MicroF32), kI8[] = QS_ROWS(MicroI8<false>);

} // namespace

const MicroKernels& microKernelsNeon() {
    static const MicroKernels kernels = {kF32, nullptr, kI8, kI8, 6, std::size_t(kWidth) * kLanes};
    return kernels;
}

} // namespace qs

#endif
