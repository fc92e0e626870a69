// SPDX-License-Identifier: GPL-3.0-or-later
// Every aarch64 processor has NEON. This code is compiled and tested for correctness only; its speed is not known.
#if defined(__aarch64__)

#include "kernels/simd/lane_sets.h"
#include "kernels/simd/target.h"

#include <arm_neon.h>

namespace qs {
namespace {

constexpr bool kFewRegisters = true;
constexpr int kWidth = 1;
constexpr int kChains = 4; // four registers each
#define QS_QUADS
#include "kernels/simd/lanes_neon.h"
//
#include "kernels/simd/gemv_text.h"
//
#include "kernels/simd/gemv_loops_text.h"
//
#include "kernels/simd/decode_text.h"
//
#include "kernels/simd/lane_tables_text.h"

} // namespace

const LaneKernels& laneKernelsNeon(LaneProducts products) {
    static const LaneKernels f32 = singles(microKernelsNeon()), i8 = quads(microKernelsNeon());
    return products == LaneProducts::I8 ? i8 : f32;
}

} // namespace qs

#endif
