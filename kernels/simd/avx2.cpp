// SPDX-License-Identifier: GPL-3.0-or-later
#include <cpuid.h>

#include "kernels/nf4_thresholds.h"
#include "kernels/reference/lanes.h"
#include "kernels/reference/reference.h"
#include "kernels/simd/sets.h"
#include "kernels/simd/target.h"

#include <immintrin.h>

namespace qs {
namespace {

const KernelSet& set() { return avx2Kernels(); }

QS_TARGET_BEGIN("avx2,fma,f16c,bmi,bmi2,popcnt")
#include "kernels/simd/vector_avx2.h"
//
#include "kernels/simd/statistics_text.h"
//
#include "kernels/simd/coders_text.h"
//
#include "kernels/simd/quantize_text.h"
//
#include "kernels/simd/stored_text.h"

inline void quantizeNf4Packed(const float* x, std::size_t n, std::size_t block, std::uint8_t* packed, float* absmax,
                              ErrorSums* sums) {
    quantizeNf4AnyBlock(x, n, block, packed, absmax, sums);
}

QS_TARGET_END

// The code below is compiled without a target region: it must run on every processor.
#include "kernels/simd/set_text.h"

} // namespace

const KernelSet& avx2Kernels() {
    static const KernelSet kernels = makeSet("avx2", "AVX2", [] {
        // clang 16 does not know "f16c" by name. The answer is kept, because cpuid takes 10 us or more in a virtual
        // machine.
        static const bool f16c = [] {
            unsigned a = 0, b = 0, c = 0, d = 0;
            return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
        }();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    });
    return kernels;
}

} // namespace qs
