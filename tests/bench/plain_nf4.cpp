// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/plain_nf4.h"

#include <cfloat>
#include <cmath>

namespace qs::bench {
namespace {

bool hasAvx512() { return __builtin_cpu_supports("avx512f") != 0; }

// gcc inlines this body twice, once into the function for the wider instruction set. Compiled with -O3.
[[gnu::always_inline]] inline void plainBody(const float* __restrict x, std::size_t n, std::size_t block,
                                             const float* __restrict thresholds, std::uint8_t* __restrict packed,
                                             float* __restrict absmax) {
    for (std::size_t b = 0; b < n / block; ++b) {
        const float* __restrict p = x + b * block;
        float bound = 0;
        for (std::size_t i = 0; i < block; ++i) bound = std::fabs(p[i]) > bound ? std::fabs(p[i]) : bound;
        absmax[b] = bound;
        const float divisor = bound + FLT_MIN;
        std::uint8_t* __restrict out = packed + b * block / 2;
        for (std::size_t i = 0; i < block / 2; ++i) {
            const float high = p[2 * i] / divisor, low = p[2 * i + 1] / divisor;
            int highCode = 0, lowCode = 0;
            for (int k = 0; k < 15; ++k) highCode += high >= thresholds[k], lowCode += low >= thresholds[k];
            out[i] = std::uint8_t(highCode << 4 | lowCode);
        }
    }
}
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"))) void
plain512(const float* x, std::size_t n, std::size_t block, const float* t, std::uint8_t* packed, float* absmax) {
    plainBody(x, n, block, t, packed, absmax);
}
void plainBase(const float* x, std::size_t n, std::size_t block, const float* t, std::uint8_t* packed, float* absmax) {
    plainBody(x, n, block, t, packed, absmax);
}

} // namespace

void plainNf4(const float* x, std::size_t n, std::size_t block, const float* thresholds, std::uint8_t* packed,
              float* absmax) {
    (hasAvx512() ? plain512 : plainBase)(x, n, block, thresholds, packed, absmax);
}

} // namespace qs::bench
