// SPDX-License-Identifier: GPL-3.0-or-later
#if defined(__x86_64__)

#include "kernels/simd/lane_sets.h"
#include "kernels/simd/target.h"

#include <immintrin.h>

namespace qs {
namespace {

constexpr int kWidth = 1; // 6 rows x 2 registers
#define QS_QUADS
QS_TARGET_BEGIN("avx2,fma,f16c")
#include "kernels/simd/lanes_avx2.h"
//
#include "kernels/simd/micro_text.h"
QS_TARGET_END

#define QS_ROWS(P)                                                                                                     \
    { micro<P, 1>, micro<P, 2>, micro<P, 3>, micro<P, 4>, micro<P, 5>, micro<P, 6> }
constexpr MicroKernel kF32[] = QS_ROWS(MicroF32), kI8[] = QS_ROWS(MicroI8<false>), kI8OfInt8[] = QS_ROWS(MicroI8<true>);

} // namespace

const MicroKernels& microKernelsAvx2() {
    static const MicroKernels kernels = {kF32, nullptr, kI8, kI8OfInt8, 6, std::size_t(kWidth) * kLanes};
    return kernels;
}

} // namespace qs

#endif
