// SPDX-License-Identifier: GPL-3.0-or-later
// Encodes ternary rows, 64 values per turn. Multiplications turn codes into bit pairs, instead of one mask at a time.

/// Stores 64 codes of two bits each, the first in the lowest bits. Returns how many codes are not 1.
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

/// |x| of 16 values as f64. The values are widened while they are loaded, so no shuffle is needed for the upper half.
QS_INLINE Doubles magnitudesAt(const float* p) {
    return {_mm512_abs_pd(_mm512_cvtps_pd(_mm256_loadu_ps(p))), _mm512_abs_pd(_mm512_cvtps_pd(_mm256_loadu_ps(p + 8)))};
}

/// Encodes 64 values and adds up the magnitudes above the limit.
struct TernaryTurn {
    Floats limit;
    Doubles above;
    std::uint64_t taken;
    explicit QS_INLINE TernaryTurn(float aLimit) : limit(set1(aLimit)), above(zeroDoubles()), taken(0) {}
    QS_INLINE void operator()(const float* x, std::uint8_t* packed) {
        Ints code[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const Floats w = load(x + 16 * k);
            const Mask beyond = abs(w) > limit;
            const Doubles d = magnitudesAt(x + 16 * k);
            above.lo = _mm512_mask_add_pd(above.lo, __mmask8(beyond.m), above.lo, d.lo);
            above.hi = _mm512_mask_add_pd(above.hi, __mmask8(beyond.m >> 8), above.hi, d.hi);
            code[k].v = _mm512_mask_andnot_epi32(set1(1).v, beyond.m, signOf(bitsOf(w)).v, set1(2).v);
        }
        taken += storePairs(packed, code);
    }
};

/// Handles the start of a row that is long, or is not a multiple of 64. `next`: prefetch the second half of the next
/// row from there; nullptr: prefetch kTernaryAhead floats ahead in this row.
inline std::size_t ternaryTurns(const float* row, std::size_t count, const float* next, float limit,
                                std::uint8_t* packed, Doubles& above, std::uint64_t& taken) {
    constexpr std::size_t kTernaryAhead = 4096;
    TernaryTurn turn(limit);
    std::size_t i = 0;
    for (; i + 64 <= count; i += 64, packed += 16) {
        const float* const ahead = next ? next + i / 2 : row + i + kTernaryAhead;
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + 16);
        if (!next) {
            __builtin_prefetch(ahead + 32);
            __builtin_prefetch(ahead + 48);
        }
        turn(row + i, packed);
    }
    above = turn.above, taken += turn.taken;
    return i;
}

/// Handles rows that are multiples of 64. While it encodes one row, it adds up the sum that decides the threshold of
/// the next row: both chains of additions wait for their own results, so they run in parallel. Returns the number of
/// elements handled.
inline std::size_t ternaryRows(const float* x, std::size_t n, std::size_t group, std::uint8_t* packed, float* scales) {
    constexpr std::size_t kNextAhead = 2048, kPageAhead = 4096;
    if (group % 64 || group > kSharedRow) return 0;
    const std::size_t rows = n / group;
    double total = rows ? sumAbsOfRow(x, group, x + group) : 0;
    for (std::size_t r = 0; r < rows; ++r, packed += group / 4) {
        const float* const row = x + r * group;
        const float* const next = r + 1 < rows ? row + group : row;
        const float limit = twnThreshold(total, group);
        if (!(limit <= 3.402823466e38f)) {
            reference::quantizeTernaryPacked(row, group, group, packed, scales + r);
            total = sumAbsOfRow(next, group, next + group);
            continue;
        }
        TernaryTurn turn(limit);
        Doubles sum = zeroDoubles();
        for (std::size_t i = 0; i < group; i += 64) {
            if (i % kPage == 0) __builtin_prefetch(next + i + kPageAhead);
#pragma GCC unroll 4
            for (std::size_t k = 0; k < 64; k += 16) {
                __builtin_prefetch(next + i + k + kNextAhead);
                sum = sum + magnitudesAt(next + i + k);
            }
            turn(row + i, packed + i / 4);
        }
        total = fold(sum);
        scales[r] = paramsFromTwn(limit, {fold(turn.above), turn.taken}).scale;
    }
    return rows * group;
}
