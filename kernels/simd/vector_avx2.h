// SPDX-License-Identifier: GPL-3.0-or-later
// 16 lanes as two AVX2 registers (four for f64). Include it once per source file, inside the target region and an
// unnamed namespace.

struct Floats {
    __m256 lo, hi;
};
struct Ints {
    __m256i lo, hi;
};
struct Doubles {
    __m256d a, b, c, d;
};
struct Mask {
    __m256 lo, hi; ///< all bits of a lane are set, or none
};

alignas(64) const std::int32_t kLaneMasks[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
QS_INLINE __m256i intsAt(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
QS_INLINE Mask firstLanes(std::size_t count) {
    const std::int32_t* p = kLaneMasks + 16 - count;
    return {_mm256_castsi256_ps(intsAt(p)), _mm256_castsi256_ps(intsAt(p + 8))};
}
QS_INLINE unsigned bits(Mask a) { return unsigned(_mm256_movemask_ps(a.lo)) | unsigned(_mm256_movemask_ps(a.hi)) << 8; }
QS_INLINE Mask operator&(Mask a, Mask b) { return {_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)}; }
QS_INLINE Mask operator|(Mask a, Mask b) { return {_mm256_or_ps(a.lo, b.lo), _mm256_or_ps(a.hi, b.hi)}; }

QS_INLINE Floats load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
QS_INLINE Floats load(const float* p, std::size_t count) {
    const Mask m = firstLanes(count);
    return {_mm256_maskload_ps(p, _mm256_castps_si256(m.lo)), _mm256_maskload_ps(p + 8, _mm256_castps_si256(m.hi))};
}
QS_INLINE void store(float* p, Floats a) { _mm256_storeu_ps(p, a.lo), _mm256_storeu_ps(p + 8, a.hi); }
QS_INLINE void store(float* p, std::size_t count, Floats a) {
    const Mask m = firstLanes(count);
    _mm256_maskstore_ps(p, _mm256_castps_si256(m.lo), a.lo);
    _mm256_maskstore_ps(p + 8, _mm256_castps_si256(m.hi), a.hi);
}
QS_INLINE Floats set1(float a) { return {_mm256_set1_ps(a), _mm256_set1_ps(a)}; }
QS_INLINE Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
QS_INLINE Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
QS_INLINE Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
QS_INLINE Floats operator/(Floats a, Floats b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
QS_INLINE Floats fma(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
QS_INLINE Floats min(Floats a, Floats b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
QS_INLINE Floats max(Floats a, Floats b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
QS_INLINE Floats abs(Floats a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}
QS_INLINE Mask operator<(Floats a, Floats b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
QS_INLINE Mask operator>(Floats a, Floats b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_GT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_GT_OQ)};
}
QS_INLINE Mask operator>=(Floats a, Floats b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_GE_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_GE_OQ)};
}
QS_INLINE Mask operator==(Floats a, Floats b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
}
QS_INLINE Floats select(Mask m, Floats yes, Floats no) {
    return {_mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi)};
}
QS_INLINE Floats only(Mask m, Floats a) { return {_mm256_and_ps(m.lo, a.lo), _mm256_and_ps(m.hi, a.hi)}; }
/// The sign bits of a ^ b. Only bit 31 of a lane is valid; bits() and select() use no other.
QS_INLINE Mask signsDiffer(Floats a, Floats b) { return {_mm256_xor_ps(a.lo, b.lo), _mm256_xor_ps(a.hi, b.hi)}; }
/// The largest of every 2, 4 or 8 neighbours, in each of their lanes.
QS_INLINE Floats largestOf(Floats a, std::size_t group) {
    const auto of = [group](__m256 v) __attribute__((always_inline)) {
        v = _mm256_max_ps(v, _mm256_permute_ps(v, 0xb1));
        if (group >= 4) v = _mm256_max_ps(v, _mm256_permute_ps(v, 0x4e));
        if (group >= 8) v = _mm256_max_ps(v, _mm256_permute2f128_ps(v, v, 1));
        return v;
    };
    return {of(a.lo), of(a.hi)};
}
QS_INLINE float reduceMax(Floats a) {
    const __m256 m = _mm256_max_ps(a.lo, a.hi);
    __m128 r = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
    r = _mm_max_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_max_ss(r, _mm_movehdup_ps(r)));
}
QS_INLINE float reduceMin(Floats a) { return -reduceMax(set1(0.0f) - a); }

QS_INLINE Ints bitsOf(Floats a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
QS_INLINE Ints set1(int a) { return {_mm256_set1_epi32(a), _mm256_set1_epi32(a)}; }
QS_INLINE Ints loadInts(const std::int32_t* p) { return {intsAt(p), intsAt(p + 8)}; }
QS_INLINE Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
QS_INLINE Ints operator-(Ints a, Ints b) { return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)}; }
QS_INLINE Ints operator&(Ints a, Ints b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
QS_INLINE Ints operator^(Ints a, Ints b) { return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)}; }
/// ~a & b
QS_INLINE Ints andNot(Ints a, Ints b) { return {_mm256_andnot_si256(a.lo, b.lo), _mm256_andnot_si256(a.hi, b.hi)}; }
QS_INLINE Ints shiftRight(Ints a, int count) {
    const __m128i by = _mm_cvtsi32_si128(count);
    return {_mm256_srl_epi32(a.lo, by), _mm256_srl_epi32(a.hi, by)};
}
QS_INLINE Ints shiftLeft(Ints a, int count) {
    const __m128i by = _mm_cvtsi32_si128(count);
    return {_mm256_sll_epi32(a.lo, by), _mm256_sll_epi32(a.hi, by)};
}
QS_INLINE Ints signOf(Ints a) { return {_mm256_srai_epi32(a.lo, 31), _mm256_srai_epi32(a.hi, 31)}; } ///< -1 or 0
QS_INLINE Floats asFloats(Ints a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
QS_INLINE Ints select(Mask m, Ints yes, Ints no) { return bitsOf(select(m, asFloats(yes), asFloats(no))); }
QS_INLINE Ints maxUnsigned(Ints a, Ints b) { return {_mm256_max_epu32(a.lo, b.lo), _mm256_max_epu32(a.hi, b.hi)}; }
QS_INLINE Mask greater(Ints a, Ints b) {
    return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(a.lo, b.lo)), _mm256_castsi256_ps(_mm256_cmpgt_epi32(a.hi, b.hi))};
}
QS_INLINE Ints plusOneWhere(Mask m, Ints a) {
    return {_mm256_sub_epi32(a.lo, _mm256_castps_si256(m.lo)), _mm256_sub_epi32(a.hi, _mm256_castps_si256(m.hi))};
}
QS_INLINE Ints minusOneWhere(Mask m, Ints a) {
    return {_mm256_add_epi32(a.lo, _mm256_castps_si256(m.lo)), _mm256_add_epi32(a.hi, _mm256_castps_si256(m.hi))};
}
QS_INLINE unsigned reduceMaxUnsigned(Ints a) {
    const __m256i m = _mm256_max_epu32(a.lo, a.hi);
    __m128i r = _mm_max_epu32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    r = _mm_max_epu32(r, _mm_shuffle_epi32(r, 0x4e));
    return unsigned(_mm_cvtsi128_si32(_mm_max_epu32(r, _mm_shuffle_epi32(r, 0xb1))));
}
/// Round half to even; the values fit an i32.
QS_INLINE Ints toInts(Floats a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
QS_INLINE Floats toFloats(Ints a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
/// The low halves of the 16 lanes, in order.
QS_INLINE __m256i lowWords(Ints a) {
    const __m256i low = _mm256_set1_epi32(0xffff);
    const __m256i words = _mm256_packus_epi32(_mm256_and_si256(a.lo, low), _mm256_and_si256(a.hi, low));
    return _mm256_permute4x64_epi64(words, 0xd8);
}
QS_INLINE __m128i lowBytes(Ints a) {
    const __m256i words = _mm256_and_si256(lowWords(a), _mm256_set1_epi16(0xff));
    return _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}
QS_INLINE void storeBytes(std::uint8_t* p, Ints a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), lowBytes(a)); }
/// p is aligned to 16 bytes.
QS_INLINE void streamBytes(std::uint8_t* p, Ints a) { _mm_stream_si128(reinterpret_cast<__m128i*>(p), lowBytes(a)); }
QS_INLINE void storeBytes(std::uint8_t* p, std::size_t count, Ints a) {
    std::uint8_t all[16];
    storeBytes(all, a);
    for (std::size_t i = 0; i < count; ++i) p[i] = all[i];
}
QS_INLINE Ints loadBytes(const std::uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
/// The float-histogram bins of 16 values, as u16; see kFloatBins.
QS_INLINE __m256i binsOf(Floats a) {
    const Ints x = bitsOf(a);
    return lowWords({_mm256_srli_epi32(x.lo, kFloatBinShift), _mm256_srli_epi32(x.hi, kFloatBinShift)});
}
QS_INLINE void storeBins(std::uint16_t* p, Floats a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), binsOf(a)); }

QS_INLINE __m256i nibbles4(const std::uint8_t* p) {
    std::int32_t four;
    __builtin_memcpy(&four, p, 4);
    const __m256i bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
    return _mm256_or_si256(_mm256_slli_epi64(bytes, 32), _mm256_srli_epi64(bytes, 4));
}
/// The nibbles of 8 bytes, high nibble first. The low four bits of a lane hold its nibble.
QS_INLINE Ints nibbles(const std::uint8_t* p) { return {nibbles4(p), nibbles4(p + 4)}; }
/// p is aligned to 64 bytes.
QS_INLINE void stream(float* p, Floats a) { _mm256_stream_ps(p, a.lo), _mm256_stream_ps(p + 8, a.hi); }
QS_INLINE Ints minUnsigned(Ints a, Ints b) { return {_mm256_min_epu32(a.lo, b.lo), _mm256_min_epu32(a.hi, b.hi)}; }
QS_INLINE Floats roundEven(Floats a) {
    return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
            _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

QS_INLINE __m256 lookup16(Floats table, __m256i index) {
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(table.lo, index), _mm256_permutevar8x32_ps(table.hi, index),
                            _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
}
QS_INLINE Floats lookup16(Floats table, Ints index) { return {lookup16(table, index.lo), lookup16(table, index.hi)}; }
QS_INLINE __m256 lookup32(Floats low, Floats high, __m256i index) {
    return _mm256_blendv_ps(lookup16(low, index), lookup16(high, index),
                            _mm256_castsi256_ps(_mm256_slli_epi32(index, 27)));
}
/// Uses the low five bits of the index.
QS_INLINE Floats lookup32(Floats low, Floats high, Ints index) {
    return {lookup32(low, high, index.lo), lookup32(low, high, index.hi)};
}
QS_INLINE Ints lookup32(Ints low, Ints high, Ints index) {
    return bitsOf(lookup32(asFloats(low), asFloats(high), index));
}
/// table[index], for a table of any length.
QS_INLINE Floats gather(const float* table, Ints index) {
    return {_mm256_i32gather_ps(table, index.lo, 4), _mm256_i32gather_ps(table, index.hi, 4)};
}
QS_INLINE __m256 inOrder(__m256 v) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8)); }
/// even = p[0], p[2], ... and odd = p[1], p[3], ... of 32 floats.
QS_INLINE void deinterleave(const float* p, Floats& even, Floats& odd) {
    const __m256 a = _mm256_loadu_ps(p), b = _mm256_loadu_ps(p + 8), c = _mm256_loadu_ps(p + 16),
                 d = _mm256_loadu_ps(p + 24);
    even = {inOrder(_mm256_shuffle_ps(a, b, 0x88)), inOrder(_mm256_shuffle_ps(c, d, 0x88))};
    odd = {inOrder(_mm256_shuffle_ps(a, b, 0xdd)), inOrder(_mm256_shuffle_ps(c, d, 0xdd))};
}
QS_INLINE void storeTwice(float* p, __m256 a) {
    const __m256 low = _mm256_unpacklo_ps(a, a), high = _mm256_unpackhi_ps(a, a);
    _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
}
/// Stores each lane twice: 32 floats.
QS_INLINE void storeTwice(float* p, Floats a) { storeTwice(p, a.lo), storeTwice(p + 16, a.hi); }

/// In int8 and ternary rows up to this length, both passes prefetch a half of the next row. 0: with AVX2 this was
/// slower.
constexpr std::size_t kSharedRow = 0;

QS_INLINE Doubles zeroDoubles() {
    const __m256d z = _mm256_setzero_pd();
    return {z, z, z, z};
}
QS_INLINE Doubles toDoubles(Floats x) {
    return {_mm256_cvtps_pd(_mm256_castps256_ps128(x.lo)), _mm256_cvtps_pd(_mm256_extractf128_ps(x.lo, 1)),
            _mm256_cvtps_pd(_mm256_castps256_ps128(x.hi)), _mm256_cvtps_pd(_mm256_extractf128_ps(x.hi, 1))};
}
QS_INLINE Floats toFloats(Doubles x) {
    return {_mm256_set_m128(_mm256_cvtpd_ps(x.b), _mm256_cvtpd_ps(x.a)),
            _mm256_set_m128(_mm256_cvtpd_ps(x.d), _mm256_cvtpd_ps(x.c))};
}
QS_INLINE Doubles operator+(Doubles x, Doubles y) {
    return {_mm256_add_pd(x.a, y.a), _mm256_add_pd(x.b, y.b), _mm256_add_pd(x.c, y.c), _mm256_add_pd(x.d, y.d)};
}
QS_INLINE Doubles operator*(Doubles x, Doubles y) {
    return {_mm256_mul_pd(x.a, y.a), _mm256_mul_pd(x.b, y.b), _mm256_mul_pd(x.c, y.c), _mm256_mul_pd(x.d, y.d)};
}
/// x * y + z. Products of two f32 are exact in f64, so the result equals a product and a sum.
QS_INLINE Doubles fma(Doubles x, Doubles y, Doubles z) {
    return {_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b), _mm256_fmadd_pd(x.c, y.c, z.c),
            _mm256_fmadd_pd(x.d, y.d, z.d)};
}
QS_INLINE Doubles abs(Doubles x) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    return {_mm256_andnot_pd(sign, x.a), _mm256_andnot_pd(sign, x.b), _mm256_andnot_pd(sign, x.c),
            _mm256_andnot_pd(sign, x.d)};
}
/// Folds 16 -> 8 -> 4 -> 2 -> 1 by lane[j] += lane[j + half].
QS_INLINE double fold(Doubles x) {
    const __m256d four = _mm256_add_pd(_mm256_add_pd(x.a, x.c), _mm256_add_pd(x.b, x.d));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

QS_INLINE __m128i wordsAt(const std::uint16_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
QS_INLINE void storeWords(std::uint16_t* p, __m128i lo, __m128i hi) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), lo);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), hi);
}
QS_INLINE Floats widenF16(const std::uint16_t* p) {
    return {_mm256_cvtph_ps(wordsAt(p)), _mm256_cvtph_ps(wordsAt(p + 8))};
}
QS_INLINE __m256 widenBf16(__m128i words) {
    const __m256 value = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
    // A signalling NaN becomes quiet.
    const __m256 quiet =
        _mm256_and_ps(_mm256_cmp_ps(value, value, _CMP_UNORD_Q), _mm256_castsi256_ps(_mm256_set1_epi32(0x400000)));
    return _mm256_or_ps(value, quiet);
}
QS_INLINE Floats widenBf16(const std::uint16_t* p) { return {widenBf16(wordsAt(p)), widenBf16(wordsAt(p + 8))}; }
QS_INLINE void narrowF16(std::uint16_t* p, Floats a) {
    storeWords(p, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT), _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
}
QS_INLINE __m256i bf16Bits(__m256 a) {
    const __m256i bits = _mm256_castps_si256(a), high = _mm256_srli_epi32(bits, 16);
    const __m256i bias = _mm256_add_epi32(_mm256_set1_epi32(0x7fff), _mm256_and_si256(high, _mm256_set1_epi32(1)));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
    return _mm256_blendv_epi8(rounded, _mm256_or_si256(high, _mm256_set1_epi32(0x40)),
                              _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)));
}
QS_INLINE void narrowBf16(std::uint16_t* p, Floats a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), lowWords({bf16Bits(a.lo), bf16Bits(a.hi)}));
}
QS_INLINE Floats throughF16(Floats a) {
    return {_mm256_cvtph_ps(_mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT)),
            _mm256_cvtph_ps(_mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT))};
}
QS_INLINE Floats throughBf16(Floats a) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(bf16Bits(a.lo), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(bf16Bits(a.hi), 16))};
}

/// Counts how many of n bytes equal each code 0..levelCount-1 and adds this to counts. levelCount is at most 16. It may
/// read up to bytes[n + 63].
inline void countBytes(const std::uint8_t* bytes, std::size_t n, int levelCount, std::uint64_t* counts) {
    for (int code = 0; code < levelCount; ++code) {
        const __m256i wanted = _mm256_set1_epi8(char(code));
        std::size_t count = 0;
        for (std::size_t i = 0; i < n; i += 32) {
            unsigned equal = unsigned(_mm256_movemask_epi8(_mm256_cmpeq_epi8(intsAt(bytes + i), wanted)));
            if (n - i < 32) equal &= (1u << (n - i)) - 1;
            count += std::size_t(__builtin_popcount(equal));
        }
        counts[code] += count;
    }
}

/// The bits of the largest magnitude of each of 16 groups. `group` is a multiple of 16.
inline void absMaxBitsOf16(const float* x, std::size_t group, unsigned* bits) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    for (std::size_t k = 0; k < 16; ++k, x += group) {
        Ints a = set1(0);
        for (std::size_t i = 0; i < group; i += 16) {
            const Ints w = bitsOf(load(x + i));
            a = maxUnsigned(a, {_mm256_and_si256(w.lo, magnitude), _mm256_and_si256(w.hi, magnitude)});
        }
        bits[k] = reduceMaxUnsigned(a);
    }
}
