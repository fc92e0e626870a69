// SPDX-License-Identifier: GPL-3.0-or-later
#if defined(__x86_64__)

#include "kernels/simd/lane_sets.h"
#include "kernels/simd/target.h"

#include <algorithm>
#include <immintrin.h>

namespace qs {
namespace {

constexpr bool kFewRegisters = false;
constexpr int kWidth = 2;
constexpr int kChains = 16;
#define QS_PAIRS
#define QS_QUADS
#define QS_FIXED
QS_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")
#include "kernels/simd/lanes_avx512.h"
//
#include "kernels/simd/lanes_avx512_dots.h"
//
#include "kernels/simd/gemv_text.h"
//
#include "kernels/simd/gemv_loops_text.h"
//
#include "kernels/simd/decode_text.h"
//
#include "kernels/simd/gemv_fixed_avx512.h"
QS_TARGET_END

#include "kernels/simd/lane_tables_text.h"

} // namespace

const LaneKernels& laneKernelsAvx512(LaneProducts products) {
    static const LaneKernels f32 = singles(microKernelsAvx512()), bf16 = pairs(microKernelsAvx512()),
                             i8 = quads(microKernelsAvx512()), fixed = fixedPoint();
    switch (products) {
    case LaneProducts::F32: return f32;
    case LaneProducts::Bf16: return bf16;
    case LaneProducts::I8: return i8;
    case LaneProducts::Fixed: return fixed;
    }
    return f32;
}

} // namespace qs

#endif
