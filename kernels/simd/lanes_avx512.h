// SPDX-License-Identifier: GPL-3.0-or-later
// 16 lanes as one AVX-512 register. Include it once per source file, inside the target region and an unnamed namespace.

struct F {
    __m512 v;
};
struct I {
    __m512i v;
};
QS_INLINE F zeroF() { return {_mm512_setzero_ps()}; }
QS_INLINE I zeroI() { return {_mm512_setzero_si512()}; }
QS_INLINE F loadF(const float* p) { return {_mm512_loadu_ps(p)}; }
QS_INLINE I loadI(const void* p) { return {_mm512_loadu_si512(p)}; }
QS_INLINE void storeF(float* p, F a) { _mm512_storeu_ps(p, a.v); }
QS_INLINE void storeI(void* p, I a) { _mm512_storeu_si512(p, a.v); }
QS_INLINE F set1F(float a) { return {_mm512_set1_ps(a)}; }
QS_INLINE F set1F(const std::uint32_t* bits) { return {_mm512_castsi512_ps(_mm512_set1_epi32(int(*bits)))}; }
QS_INLINE I set1I(std::uint32_t a) { return {_mm512_set1_epi32(int(a))}; }
QS_INLINE F fmaF(F a, F b, F c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
QS_INLINE F addF(F a, F b) { return {_mm512_add_ps(a.v, b.v)}; }
QS_INLINE F mulF(F a, F b) { return {_mm512_mul_ps(a.v, b.v)}; }
QS_INLINE F minF(F a, F b) { return {_mm512_min_ps(a.v, b.v)}; }
QS_INLINE I addI(I a, I b) { return {_mm512_add_epi32(a.v, b.v)}; }
QS_INLINE F toF(I a) { return {_mm512_cvtepi32_ps(a.v)}; }
QS_INLINE F asF(I a) { return {_mm512_castsi512_ps(a.v)}; }
QS_INLINE I asI(F a) { return {_mm512_castps_si512(a.v)}; }
template<int s> QS_INLINE I shr(I a) {
    if constexpr (s == 0) return a;
    return {_mm512_srli_epi32(a.v, s)};
}
template<int s> QS_INLINE I shl(I a) {
    if constexpr (s == 0) return a;
    return {_mm512_slli_epi32(a.v, s)};
}
template<int s> QS_INLINE I sar(I a) { return {_mm512_srai_epi32(a.v, s)}; }
QS_INLINE I andI(I a, I b) { return {_mm512_and_si512(a.v, b.v)}; }
QS_INLINE I xorI(I a, I b) { return {_mm512_xor_si512(a.v, b.v)}; }
/// Uses the low four bits of the index.
QS_INLINE F lookup16(F table, I index) { return {_mm512_permutexvar_ps(index.v, table.v)}; }
/// The table has 4 entries or fewer, which repeat.
QS_INLINE F lookup4(F table, I index) { return lookup16(table, index); }
/// The low or high half of each lane, converted from f16.
template<int half> QS_INLINE F widenF16(I a) { return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(shr<16 * half>(a).v))}; }
QS_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
