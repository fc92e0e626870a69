// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/probes.h"

#include <cfloat>
#include <cmath>
#include <immintrin.h>

namespace qs::bench {
namespace {

bool hasAvx512() { return __builtin_cpu_supports("avx512f") != 0; }

__attribute__((target("avx512f"))) float read512(const float* x, std::size_t n) {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (std::size_t i = 0; i + 64 <= n; i += 64) {
        a = _mm512_or_si512(a, _mm512_loadu_si512(x + i));
        b = _mm512_or_si512(b, _mm512_loadu_si512(x + i + 16));
        c = _mm512_or_si512(c, _mm512_loadu_si512(x + i + 32));
        d = _mm512_or_si512(d, _mm512_loadu_si512(x + i + 48));
    }
    alignas(64) int lanes[16];
    _mm512_store_si512(lanes, _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d)));
    int all = 0;
    for (const int lane : lanes) all |= lane;
    return float(all);
}

__attribute__((target("avx512f"))) void write512(float* x, std::size_t n) {
    const __m512 value = _mm512_set1_ps(1.5f);
    for (std::size_t i = 0; i + 16 <= n; i += 16) _mm512_stream_ps(x + i, value);
    _mm_sfence();
}

__attribute__((target("avx512f"))) float fma512(std::size_t steps) {
    __m512 a[12];
    for (int k = 0; k < 12; ++k) a[k] = _mm512_set1_ps(float(k));
    const __m512 m = _mm512_set1_ps(0.999f), s = _mm512_set1_ps(0.001f);
    for (std::size_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
        for (int k = 0; k < 12; ++k) a[k] = _mm512_fmadd_ps(a[k], m, s);
    }
    alignas(64) float lanes[16];
    for (int k = 1; k < 12; ++k)
        for (int j = 0; j < 16; ++j) reinterpret_cast<float*>(a)[j] += reinterpret_cast<float*>(a + k)[j];
    _mm512_store_ps(lanes, a[0]);
    return lanes[0];
}

// The same body twice; gcc inlines it into the function with the wider target. This unit is compiled with -O3.
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

float readStream(const float* x, std::size_t n) {
    if (hasAvx512()) return read512(x, n);
    unsigned all = 0;
    const auto* words = reinterpret_cast<const unsigned*>(x);
    for (std::size_t i = 0; i < n; ++i) all |= words[i];
    return float(all);
}
void writeStream(float* x, std::size_t n) {
    if (hasAvx512()) return write512(x, n);
    for (std::size_t i = 0; i < n; ++i) x[i] = 1.5f;
}
float fmaPeak(std::size_t steps, std::size_t* flops) {
    *flops = hasAvx512() ? steps * 12 * 16 * 2 : 0;
    return hasAvx512() ? fma512(steps) : 0;
}
void plainNf4(const float* x, std::size_t n, std::size_t block, const float* thresholds, std::uint8_t* packed,
              float* absmax) {
    (hasAvx512() ? plain512 : plainBase)(x, n, block, thresholds, packed, absmax);
}

} // namespace qs::bench
