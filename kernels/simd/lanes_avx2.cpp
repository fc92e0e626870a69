// SPDX-License-Identifier: GPL-3.0-or-later
#if defined(__x86_64__)

#include "kernels/simd/lane_sets.h"
#include "kernels/simd/target.h"

#include <algorithm>
#include <immintrin.h>

namespace qs {
namespace {

constexpr bool kFewRegisters = true;
constexpr int kWidth = 1;
constexpr int kChains = 4; // two registers each
#define QS_QUADS
#define QS_SHORT_SUMS
#define QS_FIXED
QS_TARGET_BEGIN("avx2,fma,f16c")
#include "kernels/simd/lanes_avx2.h"
//
#include "kernels/simd/gemv_text.h"
//
#include "kernels/simd/gemv_loops_text.h"
//
#include "kernels/simd/decode_text.h"
//
#include "kernels/simd/gemv_fixed_avx2.h"
QS_TARGET_END

#include "kernels/simd/lane_tables_text.h"

} // namespace

const LaneKernels& laneKernelsAvx2(LaneProducts products) {
    static const LaneKernels f32 = singles(microKernelsAvx2()), i8 = quads(microKernelsAvx2()), fixed = fixedPoint();
    return products == LaneProducts::I8 ? i8 : products == LaneProducts::Fixed ? fixed : f32;
}

} // namespace qs

#endif
