// SPDX-License-Identifier: GPL-3.0-or-later
// Products of bf16 pairs and of byte quads: AVX-512 BF16 and VNNI. Include it after lanes_avx512.h.

/// Looks up both halves of each lane in a table of 32 entries. Uses the low five bits of each half.
QS_INLINE I lookupPairs(I table, I index) { return {_mm512_permutexvar_epi16(index.v, table.v)}; }
QS_INLINE F dotPairs(F sum, I a, I b) { return {_mm512_dpbf16_ps(sum.v, (__m512bh)a.v, (__m512bh)b.v)}; }
/// Adds two products of 16-bit integers to each lane. Inline assembly for the same reason as in dotQuads().
QS_INLINE I dotShorts(I sum, I a, I b) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
    return sum;
}
/// Rounds to bf16: lanes of lo become the low halves, lanes of hi the high halves.
QS_INLINE I packPairs(F lo, F hi) {
    const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(hi.v, lo.v);
    return {_mm512_permutexvar_epi16(_mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                                                      7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0),
                                     halves)};
}

/// Int8 codes are multiplied as unsigned bytes: code + 128.
constexpr int kInt8Bias = -128;
/// Adds four products of bytes to each lane. a: unsigned bytes; b: signed bytes. Inline assembly instead of the
/// intrinsic, because gcc 12 would keep a copy of every sum on the stack.
template<bool int8> QS_INLINE I dotQuads(I sum, I a, I b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
    return sum;
}
