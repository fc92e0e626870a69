// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/roofs.h"

#include "kernels/kernel_set.h"

#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace qs {
namespace {

volatile float floatSink; // uses the results, so that the compiler keeps the loops
volatile int intSink;

#if defined(__x86_64__)
bool isa(std::string_view id) { return bestKernels().id == id; }

// Reads four streams side by side, because memory delivers them faster than one.
__attribute__((target("avx512f"))) std::uint32_t read512(const char* p, std::size_t bytes) {
    const std::size_t part = bytes / 1024 * 256;
    __m512i all[4] = {};
    for (std::size_t i = 0; i < part; i += 256) {
#pragma GCC unroll 4
        for (std::size_t s = 0; s < 4; ++s) {
            const char* from = p + s * part + i;
            const __m512i low = _mm512_or_si512(_mm512_loadu_si512(from), _mm512_loadu_si512(from + 64));
            const __m512i high = _mm512_or_si512(_mm512_loadu_si512(from + 128), _mm512_loadu_si512(from + 192));
            all[s] = _mm512_or_si512(all[s], _mm512_or_si512(low, high));
        }
    }
    for (std::size_t i = 4 * part; i + 64 <= bytes; i += 64)
        all[0] = _mm512_or_si512(all[0], _mm512_loadu_si512(p + i));
    return std::uint32_t(
        _mm512_reduce_or_epi32(_mm512_or_si512(_mm512_or_si512(all[0], all[1]), _mm512_or_si512(all[2], all[3]))));
}
__attribute__((target("avx2"))) __m256i or128(const char* p) {
    const auto* at = reinterpret_cast<const __m256i*>(p);
    const __m256i low = _mm256_or_si256(_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1));
    return _mm256_or_si256(low, _mm256_or_si256(_mm256_loadu_si256(at + 2), _mm256_loadu_si256(at + 3)));
}
__attribute__((target("avx2"))) std::uint32_t read256(const char* p, std::size_t bytes) {
    const std::size_t part = bytes / 512 * 128;
    __m256i all[4] = {};
    for (std::size_t i = 0; i < part; i += 128) {
#pragma GCC unroll 4
        for (std::size_t s = 0; s < 4; ++s) all[s] = _mm256_or_si256(all[s], or128(p + s * part + i));
    }
    for (std::size_t i = 4 * part; i + 128 <= bytes; i += 128) all[0] = _mm256_or_si256(all[0], or128(p + i));
    const __m256i one = _mm256_or_si256(_mm256_or_si256(all[0], all[1]), _mm256_or_si256(all[2], all[3]));
    return std::uint32_t(_mm256_extract_epi32(one, 0) | _mm256_extract_epi32(one, 7));
}
__attribute__((target("avx512f"))) void write512(char* p, std::size_t bytes) {
    const __m512i value = _mm512_set1_epi32(1);
    for (std::size_t i = 0; i + 64 <= bytes; i += 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(p + i), value);
    _mm_sfence();
}
__attribute__((target("avx2"))) void write256(char* p, std::size_t bytes) {
    const __m256i value = _mm256_set1_epi32(1);
    for (std::size_t i = 0; i + 32 <= bytes; i += 32) _mm256_stream_si256(reinterpret_cast<__m256i*>(p + i), value);
    _mm_sfence();
}

constexpr int kChains = 16; // more than latency times throughput of the instruction, fewer than the registers

__attribute__((target("avx512f"))) double f32x512(std::size_t steps) {
    __m512 a[kChains];
    for (int k = 0; k < kChains; ++k) a[k] = _mm512_set1_ps(float(k));
    const __m512 m = _mm512_set1_ps(0.999f), s = _mm512_set1_ps(0.001f);
    for (std::size_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
        for (int k = 0; k < kChains; ++k) a[k] = _mm512_fmadd_ps(a[k], m, s);
    }
    for (int k = 1; k < kChains; ++k) a[0] = _mm512_add_ps(a[0], a[k]);
    floatSink = _mm512_reduce_add_ps(a[0]);
    return double(steps) * kChains * 16 * 2;
}
__attribute__((target("avx2,fma"))) double f32x256(std::size_t steps) {
    __m256 a[12];
    for (int k = 0; k < 12; ++k) a[k] = _mm256_set1_ps(float(k));
    const __m256 m = _mm256_set1_ps(0.999f), s = _mm256_set1_ps(0.001f);
    for (std::size_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
        for (int k = 0; k < 12; ++k) a[k] = _mm256_fmadd_ps(a[k], m, s);
    }
    for (int k = 1; k < 12; ++k) a[0] = _mm256_add_ps(a[0], a[k]);
    floatSink = _mm256_cvtss_f32(a[0]);
    return double(steps) * 12 * 8 * 2;
}
__attribute__((target("avx512f,avx512bf16"))) double bf16x512(std::size_t steps) {
    __m512 a[kChains];
    for (int k = 0; k < kChains; ++k) a[k] = _mm512_setzero_ps();
    const __m512bh m = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.25f)), s = m;
    for (std::size_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
        for (int k = 0; k < kChains; ++k) a[k] = _mm512_dpbf16_ps(a[k], m, s);
    }
    for (int k = 1; k < kChains; ++k) a[0] = _mm512_add_ps(a[0], a[k]);
    floatSink = _mm512_reduce_add_ps(a[0]);
    return double(steps) * kChains * 32 * 2;
}
__attribute__((target("avx512f,avx512vnni"))) double i8x512(std::size_t steps) {
    __m512i a[kChains];
    for (int k = 0; k < kChains; ++k) a[k] = _mm512_setzero_si512();
    const __m512i m = _mm512_set1_epi8(3), s = _mm512_set1_epi8(-2);
    for (std::size_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
        for (int k = 0; k < kChains; ++k) a[k] = _mm512_dpbusd_epi32(a[k], m, s);
    }
    for (int k = 1; k < kChains; ++k) a[0] = _mm512_add_epi32(a[0], a[k]);
    intSink = _mm512_reduce_add_epi32(a[0]);
    return double(steps) * kChains * 64 * 2;
}
__attribute__((target("avx2"))) double i8x256(std::size_t steps) {
    __m256i a[8];
    for (int k = 0; k < 8; ++k) a[k] = _mm256_set1_epi8(char(k + 1));
    __m256i sum[8];
    for (int k = 0; k < 8; ++k) sum[k] = _mm256_setzero_si256();
    const __m256i s = _mm256_set1_epi8(-2), one = _mm256_set1_epi16(1);
    for (std::size_t i = 0; i < steps; ++i) {
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) {
            asm volatile("" : "+x"(a[k])); // the product must not be the same in every round
            sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(_mm256_maddubs_epi16(a[k], s), one));
        }
    }
    for (int k = 1; k < 8; ++k) sum[0] = _mm256_add_epi32(sum[0], sum[k]);
    intSink = _mm256_extract_epi32(sum[0], 0);
    return double(steps) * 8 * 32 * 2;
}
#endif

double f32Plain(std::size_t steps) {
    float a[16];
    for (int k = 0; k < 16; ++k) a[k] = float(k);
    for (std::size_t i = 0; i < steps; ++i)
        for (float& value : a) value = value * 0.999f + 0.001f;
    for (int k = 1; k < 16; ++k) a[0] += a[k];
    floatSink = a[0];
    return double(steps) * 16 * 2;
}

} // namespace

std::uint32_t readStream(const void* data, std::size_t bytes) {
#if defined(__x86_64__)
    if (isa("avx512")) return read512(static_cast<const char*>(data), bytes);
    if (isa("avx2")) return read256(static_cast<const char*>(data), bytes);
#endif
    std::uint64_t all = 0;
    const auto* words = static_cast<const std::uint64_t*>(data);
    for (std::size_t i = 0; i < bytes / 8; ++i) all |= words[i];
    return std::uint32_t(all) | std::uint32_t(all >> 32);
}

void writeStream(void* data, std::size_t bytes) {
#if defined(__x86_64__)
    if (isa("avx512")) return write512(static_cast<char*>(data), bytes);
    if (isa("avx2")) return write256(static_cast<char*>(data), bytes);
#endif
    std::memset(data, 1, bytes);
}

double runPeak(PeakKind kind, std::size_t steps) {
#if defined(__x86_64__)
    const bool wide = isa("avx512"), narrow = isa("avx2");
    switch (kind) {
    case PeakKind::F32:
        if (wide) return f32x512(steps);
        if (narrow) return f32x256(steps);
        break;
    case PeakKind::Bf16: return wide && __builtin_cpu_supports("avx512bf16") ? bf16x512(steps) : 0;
    case PeakKind::I8:
        if (wide && __builtin_cpu_supports("avx512vnni")) return i8x512(steps);
        return wide || narrow ? i8x256(steps) : 0;
    }
#endif
    return kind == PeakKind::F32 ? f32Plain(steps) : 0;
}

} // namespace qs
