// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/nf4_thresholds.h"
#include "kernels/reference/lanes.h"
#include "kernels/reference/reference.h"
#include "kernels/simd/sets.h"
#include "kernels/simd/target.h"

#include <immintrin.h>

namespace qs {
namespace {

const KernelSet& set() { return avx512Kernels(); }

QS_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,fma,f16c,bmi,bmi2,popcnt")
#include "kernels/simd/vector_avx512.h"
//
#include "kernels/simd/statistics_text.h"
//
#include "kernels/simd/coders_text.h"
//
#include "kernels/simd/nf4_groups_avx512.h"
//
#include "kernels/simd/quantize_text.h"
//
#include "kernels/simd/nf4_whole_groups_avx512.h"
//
#include "kernels/simd/ternary_avx512.h"
//
#include "kernels/simd/stored_text.h"
//
#include "kernels/simd/nf4_packed_avx512.h"
QS_TARGET_END

// The code below is compiled without a target region: it must run on every processor.
#include "kernels/simd/set_text.h"

} // namespace

const KernelSet& avx512Kernels() {
    static const KernelSet kernels = makeSet("avx512", "AVX-512", [] {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vbmi") && avx2Kernels().supported();
    });
    return kernels;
}

} // namespace qs
