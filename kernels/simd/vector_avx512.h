// SPDX-License-Identifier: GPL-3.0-or-later
// 16 lanes as one AVX-512 register (two for f64). Include it once per source file, inside the target region and an
// unnamed namespace.

struct Floats {
    __m512 v;
};
struct Ints {
    __m512i v;
};
struct Doubles {
    __m512d lo, hi;
};
struct Mask {
    __mmask16 m;
};

QS_INLINE Mask firstLanes(std::size_t count) { return {__mmask16((1u << count) - 1)}; }
QS_INLINE unsigned bits(Mask a) { return a.m; }
QS_INLINE Mask operator&(Mask a, Mask b) { return {__mmask16(a.m & b.m)}; }
QS_INLINE Mask operator|(Mask a, Mask b) { return {__mmask16(a.m | b.m)}; }

QS_INLINE Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
QS_INLINE Floats load(const float* p, std::size_t count) { return {_mm512_maskz_loadu_ps(firstLanes(count).m, p)}; }
QS_INLINE void store(float* p, Floats a) { _mm512_storeu_ps(p, a.v); }
QS_INLINE void store(float* p, std::size_t count, Floats a) { _mm512_mask_storeu_ps(p, firstLanes(count).m, a.v); }
QS_INLINE Floats set1(float a) { return {_mm512_set1_ps(a)}; }
QS_INLINE Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
QS_INLINE Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
QS_INLINE Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
QS_INLINE Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
QS_INLINE Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
QS_INLINE Floats min(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
QS_INLINE Floats max(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
QS_INLINE Floats abs(Floats a) { return {_mm512_abs_ps(a.v)}; }
QS_INLINE Mask operator<(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
QS_INLINE Mask operator>(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ)}; }
QS_INLINE Mask operator>=(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ)}; }
QS_INLINE Mask operator==(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
QS_INLINE Floats select(Mask m, Floats yes, Floats no) { return {_mm512_mask_blend_ps(m.m, no.v, yes.v)}; }
QS_INLINE Floats only(Mask m, Floats a) { return {_mm512_maskz_mov_ps(m.m, a.v)}; }
/// The sign bits of a ^ b.
QS_INLINE Mask signsDiffer(Floats a, Floats b) {
    return {_mm512_movepi32_mask(_mm512_xor_si512(_mm512_castps_si512(a.v), _mm512_castps_si512(b.v)))};
}
/// The largest of every 2, 4 or 8 neighbours, in each of their lanes.
QS_INLINE Floats largestOf(Floats a, std::size_t group) {
    a.v = _mm512_max_ps(a.v, _mm512_permute_ps(a.v, 0xb1));
    if (group >= 4) a.v = _mm512_max_ps(a.v, _mm512_permute_ps(a.v, 0x4e));
    if (group >= 8) a.v = _mm512_max_ps(a.v, _mm512_shuffle_f32x4(a.v, a.v, 0xb1));
    return a;
}
QS_INLINE float reduceMax(Floats a) { return _mm512_reduce_max_ps(a.v); }
QS_INLINE float reduceMin(Floats a) { return _mm512_reduce_min_ps(a.v); }

QS_INLINE Ints bitsOf(Floats a) { return {_mm512_castps_si512(a.v)}; }
QS_INLINE Ints set1(int a) { return {_mm512_set1_epi32(a)}; }
QS_INLINE Ints loadInts(const std::int32_t* p) { return {_mm512_loadu_si512(p)}; }
QS_INLINE Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
QS_INLINE Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
QS_INLINE Ints operator&(Ints a, Ints b) { return {_mm512_and_si512(a.v, b.v)}; }
QS_INLINE Ints operator^(Ints a, Ints b) { return {_mm512_xor_si512(a.v, b.v)}; }
QS_INLINE Ints andNot(Ints a, Ints b) { return {_mm512_andnot_si512(a.v, b.v)}; } ///< ~a & b
QS_INLINE Ints shiftRight(Ints a, int count) { return {_mm512_srl_epi32(a.v, _mm_cvtsi32_si128(count))}; }
QS_INLINE Ints shiftLeft(Ints a, int count) { return {_mm512_sll_epi32(a.v, _mm_cvtsi32_si128(count))}; }
QS_INLINE Ints signOf(Ints a) { return {_mm512_srai_epi32(a.v, 31)}; } ///< -1 or 0
QS_INLINE Ints select(Mask m, Ints yes, Ints no) { return {_mm512_mask_blend_epi32(m.m, no.v, yes.v)}; }
QS_INLINE Floats asFloats(Ints a) { return {_mm512_castsi512_ps(a.v)}; }
QS_INLINE Ints maxUnsigned(Ints a, Ints b) { return {_mm512_max_epu32(a.v, b.v)}; }
QS_INLINE Mask greater(Ints a, Ints b) { return {_mm512_cmpgt_epi32_mask(a.v, b.v)}; }
QS_INLINE Ints plusOneWhere(Mask m, Ints a) { return {_mm512_mask_add_epi32(a.v, m.m, a.v, _mm512_set1_epi32(1))}; }
QS_INLINE Ints minusOneWhere(Mask m, Ints a) { return {_mm512_mask_sub_epi32(a.v, m.m, a.v, _mm512_set1_epi32(1))}; }
QS_INLINE unsigned reduceMaxUnsigned(Ints a) { return _mm512_reduce_max_epu32(a.v); }
/// Round half to even; the values fit an i32.
QS_INLINE Ints toInts(Floats a) { return {_mm512_cvtps_epi32(a.v)}; }
QS_INLINE Floats toFloats(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
QS_INLINE void storeBytes(std::uint8_t* p, Ints a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
QS_INLINE void storeBytes(std::uint8_t* p, std::size_t count, Ints a) {
    _mm512_mask_cvtepi32_storeu_epi8(p, firstLanes(count).m, a.v);
}
QS_INLINE Ints loadBytes(const std::uint8_t* p) {
    return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
/// The float-histogram bins of 16 values, as u16; see kFloatBins.
QS_INLINE __m256i binsOf(Floats a) { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bitsOf(a).v, kFloatBinShift)); }
QS_INLINE void storeBins(std::uint16_t* p, Floats a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), binsOf(a)); }

/// The nibbles of 8 bytes, high nibble first. The low four bits of a lane hold its nibble.
QS_INLINE Ints nibbles(const std::uint8_t* p) {
    const __m512i bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return {_mm512_or_si512(_mm512_slli_epi64(bytes, 32), _mm512_srli_epi64(bytes, 4))};
}
/// p is aligned to 64 bytes.
QS_INLINE void stream(float* p, Floats a) { _mm512_stream_ps(p, a.v); }
/// p is aligned to 16 bytes.
QS_INLINE void streamBytes(std::uint8_t* p, Ints a) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
QS_INLINE Ints minUnsigned(Ints a, Ints b) { return {_mm512_min_epu32(a.v, b.v)}; }
QS_INLINE Floats roundEven(Floats a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT)}; }

QS_INLINE Floats lookup16(Floats table, Ints index) { return {_mm512_permutexvar_ps(index.v, table.v)}; }
/// Uses the low five bits of the index.
QS_INLINE Floats lookup32(Floats low, Floats high, Ints index) {
    return {_mm512_permutex2var_ps(low.v, index.v, high.v)};
}
QS_INLINE Ints lookup32(Ints low, Ints high, Ints index) { return {_mm512_permutex2var_epi32(low.v, index.v, high.v)}; }
/// table[index], for a table of any length.
QS_INLINE Floats gather(const float* table, Ints index) { return {_mm512_i32gather_ps(index.v, table, 4)}; }
/// even = p[0], p[2], ... and odd = p[1], p[3], ... of 32 floats.
QS_INLINE void deinterleave(const float* p, Floats& even, Floats& odd) {
    const __m512 a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + 16);
    const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even.v = _mm512_permutex2var_ps(a, first, b);
    odd.v = _mm512_permutex2var_ps(a, _mm512_add_epi32(first, _mm512_set1_epi32(1)), b);
}
/// Stores each lane twice: 32 floats.
QS_INLINE void storeTwice(float* p, Floats a) {
    const __m512i low = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    _mm512_storeu_ps(p, _mm512_permutexvar_ps(low, a.v));
    _mm512_storeu_ps(p + 16, _mm512_permutexvar_ps(_mm512_add_epi32(low, _mm512_set1_epi32(8)), a.v));
}

/// In int8 and ternary rows up to this length, both passes prefetch a half of the next row, because rows this short fit
/// the caches.
constexpr std::size_t kSharedRow = 16384;

QS_INLINE Doubles zeroDoubles() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
QS_INLINE Doubles toDoubles(Floats a) {
    return {_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
}
QS_INLINE Floats toFloats(Doubles a) {
    const __m512d lo = _mm512_castpd256_pd512(_mm256_castps_pd(_mm512_cvtpd_ps(a.lo)));
    return {_mm512_castpd_ps(_mm512_insertf64x4(lo, _mm256_castps_pd(_mm512_cvtpd_ps(a.hi)), 1))};
}
QS_INLINE Doubles operator+(Doubles a, Doubles b) { return {_mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi)}; }
QS_INLINE Doubles operator*(Doubles a, Doubles b) { return {_mm512_mul_pd(a.lo, b.lo), _mm512_mul_pd(a.hi, b.hi)}; }
/// a * b + c. Products of two f32 are exact in f64, so the result equals a product and a sum.
QS_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) {
    return {_mm512_fmadd_pd(a.lo, b.lo, c.lo), _mm512_fmadd_pd(a.hi, b.hi, c.hi)};
}
QS_INLINE Doubles abs(Doubles a) { return {_mm512_abs_pd(a.lo), _mm512_abs_pd(a.hi)}; }
/// Folds 16 -> 8 -> 4 -> 2 -> 1 by lane[j] += lane[j + half].
QS_INLINE double fold(Doubles a) {
    const __m512d eight = _mm512_add_pd(a.lo, a.hi);
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

QS_INLINE Floats widenF16(const std::uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
QS_INLINE Floats widenBf16(const std::uint16_t* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    const __m512 value = _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    // A signalling NaN becomes quiet.
    return {_mm512_mask_or_ps(value, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), value,
                              _mm512_castsi512_ps(_mm512_set1_epi32(0x400000)))};
}
QS_INLINE void narrowF16(std::uint16_t* p, Floats a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
QS_INLINE __m512i bf16Bits(Floats a) { // not vcvtneps2bf16: it flushes denormals
    const __m512i bits = bitsOf(a).v, one = _mm512_set1_epi32(1);
    const __m512i high = _mm512_srli_epi32(bits, 16);
    const __m512i bias = _mm512_add_epi32(_mm512_set1_epi32(0x7fff), _mm512_and_si512(high, one));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40));
}
QS_INLINE void narrowBf16(std::uint16_t* p, Floats a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(bf16Bits(a)));
}
QS_INLINE Floats throughF16(Floats a) { return {_mm512_cvtph_ps(_mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT))}; }
QS_INLINE Floats throughBf16(Floats a) { return {_mm512_castsi512_ps(_mm512_slli_epi32(bf16Bits(a), 16))}; }

/// Counts how many of n bytes equal each code 0..levelCount-1 and adds this to counts. levelCount is at most 16. It may
/// read up to bytes[n + 63].
inline void countBytes(const std::uint8_t* bytes, std::size_t n, int levelCount, std::uint64_t* counts) {
    for (int code = 0; code < levelCount; ++code) {
        const __m512i wanted = _mm512_set1_epi8(char(code));
        std::size_t i = 0, count = 0;
        for (; i + 64 <= n; i += 64)
            count += std::size_t(__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes + i), wanted)));
        if (i < n)
            count += std::size_t(__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes + i), wanted) &
                                                      ((std::uint64_t(1) << (n - i)) - 1)));
        counts[code] += count;
    }
}

/// The maximum of each of 16 vectors: lane j of the result belongs to v[j].
QS_INLINE __m512i maxOfEach(const __m512i* v) {
    __m512i a[8], b[4];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
        a[i] = _mm512_max_epu32(_mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
                                _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        b[i] = _mm512_max_epu32(_mm512_unpacklo_epi64(a[2 * i], a[2 * i + 1]),
                                _mm512_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
    const __m512i c = _mm512_max_epu32(_mm512_shuffle_i32x4(b[0], b[1], 0x88), _mm512_shuffle_i32x4(b[0], b[1], 0xdd));
    const __m512i d = _mm512_max_epu32(_mm512_shuffle_i32x4(b[2], b[3], 0x88), _mm512_shuffle_i32x4(b[2], b[3], 0xdd));
    return _mm512_max_epu32(_mm512_shuffle_i32x4(c, d, 0x88), _mm512_shuffle_i32x4(c, d, 0xdd));
}
/// The bits of the largest magnitude in each lane of a block. `block` is a multiple of 16.
QS_INLINE __m512i maxBitsOf(const float* x, std::size_t block) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i a = _mm512_setzero_si512(), b = a;
    std::size_t i = 0;
#pragma GCC unroll 2
    for (; i + 32 <= block; i += 32) {
        a = _mm512_max_epu32(a, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
        b = _mm512_max_epu32(b, _mm512_and_si512(_mm512_loadu_si512(x + i + 16), magnitude));
    }
    if (i < block) a = _mm512_max_epu32(a, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
    return _mm512_max_epu32(a, b);
}
/// The bits of the largest magnitude of each of `count` blocks, at most 16.
QS_INLINE __m512i maxBitsOf16(const float* x, std::size_t block, std::size_t count) {
    __m512i partial[16];
    for (std::size_t k = 0; k < 16; ++k)
        partial[k] = k < count ? maxBitsOf(x + k * block, block) : _mm512_setzero_si512();
    return maxOfEach(partial);
}
inline void absMaxBitsOf16(const float* x, std::size_t group, unsigned* bits) {
    _mm512_storeu_si512(bits, maxBitsOf16(x, group, 16));
}
