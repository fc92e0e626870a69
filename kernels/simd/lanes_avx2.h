// SPDX-License-Identifier: GPL-3.0-or-later
// 16 lanes as two AVX2 registers. Include it once per source file, inside the target region and an unnamed namespace.

struct F {
    __m256 lo, hi;
};
struct I {
    __m256i lo, hi;
};
QS_INLINE F zeroF() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
QS_INLINE I zeroI() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
QS_INLINE F loadF(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
QS_INLINE I loadI(const void* p) {
    const auto* at = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
}
QS_INLINE void storeF(float* p, F a) { _mm256_storeu_ps(p, a.lo), _mm256_storeu_ps(p + 8, a.hi); }
QS_INLINE void storeI(void* p, I a) {
    auto* at = static_cast<__m256i*>(p);
    _mm256_storeu_si256(at, a.lo), _mm256_storeu_si256(at + 1, a.hi);
}
QS_INLINE F set1F(float a) { return {_mm256_set1_ps(a), _mm256_set1_ps(a)}; }
QS_INLINE I set1I(std::uint32_t a) { return {_mm256_set1_epi32(int(a)), _mm256_set1_epi32(int(a))}; }
QS_INLINE F asF(I a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
QS_INLINE I asI(F a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
QS_INLINE F set1F(const std::uint32_t* bits) { return asF(set1I(*bits)); }
QS_INLINE F fmaF(F a, F b, F c) { return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)}; }
QS_INLINE F addF(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
QS_INLINE F mulF(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
QS_INLINE F minF(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
QS_INLINE I addI(I a, I b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
QS_INLINE F toF(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
template<int s> QS_INLINE I shr(I a) {
    if constexpr (s == 0) return a;
    return {_mm256_srli_epi32(a.lo, s), _mm256_srli_epi32(a.hi, s)};
}
template<int s> QS_INLINE I shl(I a) {
    if constexpr (s == 0) return a;
    return {_mm256_slli_epi32(a.lo, s), _mm256_slli_epi32(a.hi, s)};
}
template<int s> QS_INLINE I sar(I a) { return {_mm256_srai_epi32(a.lo, s), _mm256_srai_epi32(a.hi, s)}; }
QS_INLINE I andI(I a, I b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
QS_INLINE I xorI(I a, I b) { return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)}; }
/// Uses the low four bits of the index.
QS_INLINE __m256 lookup16(F table, __m256i index) {
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(table.lo, index), _mm256_permutevar8x32_ps(table.hi, index),
                            _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
}
QS_INLINE F lookup16(F table, I index) { return {lookup16(table, index.lo), lookup16(table, index.hi)}; }
/// The table has 4 entries or fewer, which repeat.
QS_INLINE F lookup4(F table, I index) {
    return {_mm256_permutevar8x32_ps(table.lo, index.lo), _mm256_permutevar8x32_ps(table.lo, index.hi)};
}
/// The low or high half of each lane, converted from f16.
template<int half> QS_INLINE F widenF16(I a) {
    const I words = andI(shr<16 * half>(a), set1I(0xffff));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words.lo, words.hi), 0xd8);
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(packed)), _mm256_cvtph_ps(_mm256_extracti128_si256(packed, 1))};
}
QS_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

/// Int8 codes stay signed. Bytes are multiplied by magnitude and sign.
constexpr int kInt8Bias = 0;
template<bool int8> QS_INLINE __m256i dotQuads(__m256i sum, __m256i a, __m256i b) {
    // A pair of products stays below 2^15, because |a| <= 128 and |b| <= 127, or a <= 15.
    const __m256i pairs =
        int8 ? _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a)) : _mm256_maddubs_epi16(a, b);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
/// Adds four products of bytes to each lane. a: unsigned bytes up to 15, or Int8 codes; b: signed bytes.
template<bool int8> QS_INLINE I dotQuads(I sum, I a, I b) {
    return {dotQuads<int8>(sum.lo, a.lo, b.lo), dotQuads<int8>(sum.hi, a.hi, b.hi)};
}
/// The same with 16-bit results: two products in each.
QS_INLINE I dotShorts(I a, I b) { return {_mm256_maddubs_epi16(a.lo, b.lo), _mm256_maddubs_epi16(a.hi, b.hi)}; }
QS_INLINE I addShorts(I a, I b) { return {_mm256_add_epi16(a.lo, b.lo), _mm256_add_epi16(a.hi, b.hi)}; }
QS_INLINE I widenShorts(I sum, I shorts) {
    const __m256i one = _mm256_set1_epi16(1);
    return {_mm256_add_epi32(sum.lo, _mm256_madd_epi16(shorts.lo, one)),
            _mm256_add_epi32(sum.hi, _mm256_madd_epi16(shorts.hi, one))};
}
