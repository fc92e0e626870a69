// SPDX-License-Identifier: GPL-3.0-or-later
#if defined(__x86_64__)

#include "kernels/simd/lane_sets.h"
#include "kernels/simd/target.h"

#include <immintrin.h>

namespace qs {
namespace {

constexpr int kWidth = 2; // 12 rows x 2 vectors: 24 registers for sums, 2 for columns, the rest for broadcasts
#define QS_PAIRS
#define QS_QUADS
QS_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")
#include "kernels/simd/lanes_avx512.h"
//
#include "kernels/simd/lanes_avx512_dots.h"
//
#include "kernels/simd/micro_text.h"
QS_TARGET_END

#define QS_ROWS(P)                                                                                                     \
    {                                                                                                                  \
        micro<P, 1>, micro<P, 2>, micro<P, 3>, micro<P, 4>, micro<P, 5>, micro<P, 6>, micro<P, 7>, micro<P, 8>,        \
            micro<P, 9>, micro<P, 10>, micro<P, 11>, micro<P, 12>                                                      \
    }
constexpr MicroKernel kF32[] = QS_ROWS(MicroF32), kBf16[] = QS_ROWS(MicroBf16), kI8[] = QS_ROWS(MicroI8<false>);

} // namespace

const MicroKernels& microKernelsAvx512() {
    static const MicroKernels kernels = {kF32, kBf16, kI8, kI8, 12, std::size_t(kWidth) * kLanes};
    return kernels;
}

} // namespace qs

#endif
