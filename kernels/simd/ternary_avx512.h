// SPDX-License-Identifier: GPL-3.0-or-later
// Ternary rows, 64 values a turn: codes become bit pairs by multiplications, not one mask at a time.

/// 64 codes below 4 as two bits each, the first lowest; how many are not 1.
QS_INLINE unsigned storePairs(std::uint8_t* p, const Ints* code) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes =
        _mm512_permutexvar_epi32(order, _mm512_packus_epi16(_mm512_packus_epi32(code[0].v, code[1].v),
                                                            _mm512_packus_epi32(code[2].v, code[3].v)));
    const __m512i fours =
        _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x0401)), _mm512_set1_epi32(0x00100001));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(fours));
    return unsigned(__builtin_popcountll(_mm512_cmpneq_epi8_mask(bytes, _mm512_set1_epi8(1))));
}

/// `next`: where the second half of the next row is to be prefetched from, or nullptr for kTernaryAhead floats ahead.
inline std::size_t ternaryTurns(const float* row, std::size_t count, const float* next, float limit,
                                std::uint8_t* packed, Doubles& above, std::uint64_t& taken) {
    constexpr std::size_t kTernaryAhead = 4096;
    const Floats high = set1(limit), low = set1(-limit);
    Doubles sum = above;
    std::uint64_t others = 0;
    std::size_t i = 0;
    for (; i + 64 <= count; i += 64, packed += 16) {
        const float* const ahead = next ? next + i / 2 : row + i + kTernaryAhead;
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + 16);
        if (!next) {
            __builtin_prefetch(ahead + 32);
            __builtin_prefetch(ahead + 48);
        }
        Ints code[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const Floats w = load(row + i + 16 * k);
            const Mask plus = w > high, minus = w < low;
            sum = sum + toDoubles(only(plus | minus, abs(w)));
            code[k] = minusOneWhere(minus, plusOneWhere(plus, set1(1)));
        }
        others += storePairs(packed, code);
    }
    above = sum, taken += others;
    return i;
}
