// SPDX-License-Identifier: GPL-3.0-or-later
// Products of pairs of bf16 and of quads of bytes: AVX-512 BF16 and VNNI. Included after lanes_avx512.h.

/// Both halves of a lane look up; bits above the low five of each do not count, the table has 32 entries.
QS_INLINE I lookupPairs(I table, I index) { return {_mm512_permutexvar_epi16(index.v, table.v)}; }
QS_INLINE F dotPairs(F sum, I a, I b) { return {_mm512_dpbf16_ps(sum.v, (__m512bh)a.v, (__m512bh)b.v)}; }
/// Lanes of lo in the low halves, of hi in the high ones, rounded.
QS_INLINE I packPairs(F lo, F hi) {
    const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(hi.v, lo.v);
    return {_mm512_permutexvar_epi16(_mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                                                      7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0),
                                     halves)};
}

/// Int8 codes are multiplied as unsigned bytes, 128 too large.
constexpr int kInt8Bias = -128;
/// a: unsigned bytes, b: signed ones. Not the intrinsic: gcc 12 keeps a copy of every sum on the stack around it.
template<bool int8> QS_INLINE I dotQuads(I sum, I a, I b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
    return sum;
}
