// SPDX-License-Identifier: GPL-3.0-or-later
// Plain nf4 in groups that are multiples of 64, quantized and measured. Each turn handles 64 elements without a branch.
// The scalar counting of earlier elements is interleaved with the arithmetic. Scales are computed, and sums are stored,
// for up to 16 groups at a time.

/// The bins of 32 values, in no fixed order.
QS_INLINE void storeBins32(std::uint16_t* p, Floats a, Floats b) {
    const __m512i high = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                                          25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    _mm512_store_si512(p, _mm512_srli_epi16(_mm512_permutex2var_epi16(bitsOf(a).v, high, bitsOf(b).v), 2));
}
QS_INLINE __m512d widened(Floats a) {
    return _mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1)));
}
/// f32 sums over 256 elements with at most 8 roundings in a row, f64 beyond. The squares of a group are summed as
/// kernel_set.h says.
template<bool kGroupSums> struct WholeSums {
    Floats se, sae, swv, sv2, se2, sw2;
    __m512d totalSe, totalSae, totalSwv, totalSv2, totalSe2, totalSw2, groupSe2, groupSw2;
    QS_INLINE WholeSums() { // not by member initializers: gcc compiles those without the instruction set
        se = sae = swv = sv2 = se2 = sw2 = set1(0.0f);
        totalSe = totalSae = totalSwv = totalSv2 = totalSe2 = totalSw2 = groupSe2 = groupSw2 = _mm512_setzero_pd();
    }
    QS_INLINE static void into(__m512d& total, Floats& sum) {
        total = _mm512_add_pd(total, widened(sum));
        sum = set1(0.0f);
    }
    QS_INLINE static Floats products(const Floats* a, const Floats* b) {
        return fma(a[3], b[3], fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])));
    }
    QS_INLINE void add(const Floats* w, const Floats* v, const Floats* e, const Floats* magnitude) {
        se = se + ((e[0] + e[1]) + (e[2] + e[3]));
        sae = sae + ((magnitude[0] + magnitude[1]) + (magnitude[2] + magnitude[3]));
        swv = swv + products(w, v);
        sv2 = sv2 + products(v, v);
        if (!kGroupSums) se2 = se2 + products(e, e), sw2 = sw2 + products(w, w);
    }
    QS_INLINE void flush() {
        into(totalSe, se), into(totalSae, sae), into(totalSwv, swv), into(totalSv2, sv2);
        if (!kGroupSums) into(totalSe2, se2), into(totalSw2, sw2);
    }
    QS_INLINE void flushGroup() { into(groupSe2, se2), into(groupSw2, sw2); }
    QS_INLINE void closeGroup(float* sse, float* ssw) {
        const __m512d none = _mm512_setzero_pd();
        totalSe2 = _mm512_add_pd(totalSe2, groupSe2), totalSw2 = _mm512_add_pd(totalSw2, groupSw2);
        *sse = float(fold({groupSe2, none})), *ssw = float(fold({groupSw2, none}));
        groupSe2 = groupSw2 = none;
    }
    QS_INLINE void addTo(Totals& t) {
        flush();
        const auto add = [](Doubles & to, __m512d a) __attribute__((always_inline)) {
            to.lo = _mm512_add_pd(to.lo, a);
        };
        add(t.se, totalSe), add(t.sae, totalSae), add(t.swv, totalSwv), add(t.sv2, totalSv2);
        add(t.se2, totalSe2), add(t.sw2, totalSw2);
    }
};

/// Handles plain nf4 from element `begin` on, in groups that are multiples of 64. Returns the number of elements
/// handled. It stops after the last whole group, or before the first groups whose values need the general function.
template<unsigned kWanted, bool kGroupSums>
__attribute__((noinline)) std::size_t wholeNf4Groups(const Nf4ScaledCoder& coder, Pass& pass, std::size_t begin) {
    const Run& run = pass.run;
    const RunOut& out = pass.out;
    constexpr bool kCode = kWanted & kCodes, kSum = kWanted & kSums, kCount = kWanted & kCounts,
                   kError = kWanted & kErrors, kValue = kWanted & kValues;
    std::uint32_t* const errorBins = out.errorBins;
    std::uint32_t* const valueBins = out.valueBins;
    const std::size_t block = run.group, groups = run.n / block, first = begin / block;
    const std::size_t together = block >= 4096 ? 1 : block * 16 <= 4096 ? 16 : 4096 / block;
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i zeroCode = _mm512_set1_epi8(7);
    WholeSums<kGroupSums> s;
    __m512i maxAbs = bitsOf(pass.totals.maxAbs).v;
    std::uint64_t zeros = 0;
    std::size_t at = pass.ringAt, g = first; // groups are multiples of 64, so `at` is too
    const float* x = run.x + begin;
    std::uint8_t* codes = kCode ? out.codes + begin : nullptr;
    alignas(64) float inverse15[16], scales[16], auxes[16], lows[16][16], highs[16][16];
    alignas(64) float groupSse[16], groupSsw[16];
    unsigned pending = 4;
    for (std::size_t count = 0; g < groups; g += count) {
        count = groups - g < together ? groups - g : together;
        const __m512i maxBits = maxBitsOf16(x, block, count);
        const __mmask16 zero = _mm512_testn_epi32_mask(maxBits, maxBits);
        if (_mm512_mask_cmpgt_epu32_mask(__mmask16(~zero), _mm512_sub_epi32(maxBits, _mm512_set1_epi32(0x2d800000)),
                                         _mm512_set1_epi32(0x58800000 - 0x2d800000)))
            break;
        const Floats bound = {_mm512_castsi512_ps(maxBits)}, divisor = bound + set1(1.17549435e-38f);
        store(scales, bound);
        store(auxes, divisor);
        store(inverse15, min(set1(Nf4Thresholds::kBucketScale) / divisor, set1(3e38f)));
        if (out.scales) store(out.scales + g, count, bound);
        if (out.groupAbsMax) store(out.groupAbsMax + g, count, bound);
        for (std::size_t k = 0; k < count; ++k) { // before all codes: the codes of a group would wait for this chain
            const auto group = coder.forGroup(auxes[k], scales[k], set1(inverse15[k]));
            _mm512_store_ps(lows[k], group.low), _mm512_store_ps(highs[k], group.high);
        }
        for (std::size_t k = 0; k < count; ++k) {
            const Nf4ScaledCoder::Group group = {set1(auxes[k]), set1(scales[k]), _mm512_load_ps(lows[k]),
                                                 _mm512_load_ps(highs[k]), set1(inverse15[k]).v};
            for (std::size_t left = block;;) {
                std::uint16_t* const errorRing = pass.errorRing + at;
                std::uint16_t* const valueRing = pass.valueRing + at;
                const std::size_t behind = at ^ kRing / 2;
                Ints code[4];
                Floats w[4], v[4], e[4], quotient[4], magnitude[4];
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) {
                    __builtin_prefetch(x + 16 * i + 4096);
                    w[i] = load(x + 16 * i);
                    code[i] = coder.encode(w[i], group, quotient[i]);
                    v[i] = coder.decode(code[i], w[i], group);
                    e[i] = v[i] - w[i];
                    if (kError && i % 2) storeBins32(errorRing + 16 * (i - 1), e[i - 1], e[i]);
                    if (kValue && i % 2) storeBins32(valueRing + 16 * (i - 1), quotient[i - 1], quotient[i]);
                    if (kSum) {
                        magnitude[i] = abs(e[i]);
                        maxAbs = _mm512_max_epu32(maxAbs, bitsOf(magnitude[i]).v);
                        if (kGroupSums) s.se2 = s.se2 + e[i] * e[i], s.sw2 = s.sw2 + w[i] * w[i];
                    }
                    if (kError) count16(pass.errorRing + behind + 16 * i, errorBins);
                    if (kValue) count16(pass.valueRing + behind + 16 * i, valueBins);
                }
                const __m512i bytes = _mm512_packus_epi16(_mm512_packus_epi32(code[0].v, code[1].v),
                                                          _mm512_packus_epi32(code[2].v, code[3].v));
                if (kCode) _mm512_storeu_si512(codes, _mm512_permutexvar_epi32(order, bytes)), codes += 64;
                if (kSum) zeros += unsigned(__builtin_popcountll(_mm512_cmpeq_epi8_mask(bytes, zeroCode)));
                if (kCount) {
                    if (pass.groupCodesFill + 64 > kPiece) pass.flushGroupCodes();
                    _mm512_storeu_si512(pass.groupCodes + pass.groupCodesFill, bytes), pass.groupCodesFill += 64;
                }
                at = (at + 64) % kRing;
                x += 64;
                left -= 64;
                if (kSum) {
                    s.add(w, v, e, magnitude);
                    if (--pending == 0) s.flush(), pending = 4;
                    if (left == 0) break;
                    if (kGroupSums && (block - left) % 128 == 0) s.flushGroup();
                } else if (left == 0)
                    break;
            }
            if (kSum && kGroupSums) {
                s.flushGroup();
                s.closeGroup(groupSse + k, groupSsw + k);
            }
        }
        if (kGroupSums) {
            if (out.groupSse) store(out.groupSse + g, count, load(groupSse));
            if (out.groupSsw) store(out.groupSsw + g, count, load(groupSsw));
        }
    }
    const std::size_t done = (g - first) * block;
    if (kSum) {
        s.addTo(pass.totals);
        pass.totals.maxAbs.v = _mm512_castsi512_ps(maxAbs);
        pass.totals.n += done, pass.totals.zeros += zeros;
    }
    pass.ringAt = at;
    return done;
}

/// Returns the number of elements handled from `begin` on; 0 if the general function must handle some groups first.
inline std::size_t wholeGroups(const Nf4Coder& coder, Pass& pass, std::size_t begin) {
    const Run& run = pass.run;
    if (run.group % 64 || !isPlainNf4(run) || !Nf4Coder::keepsSigns(run)) return 0;
    for (int k = 0; k < 16; ++k)
        if (k != 7 && run.levels[k] == 0) return 0;
    const bool groupSums = pass.out.groupSse || pass.out.groupSsw;
    const Nf4ScaledCoder scaled(coder);
    switch (wantedOf(pass)) {
    case kCodes: return wholeNf4Groups<kCodes, false>(scaled, pass, begin);
    case kCodes | kSums: return groupSums ? 0 : wholeNf4Groups<kCodes | kSums, false>(scaled, pass, begin);
    case kCodes | kSums | kErrors:
        return groupSums ? 0 : wholeNf4Groups<kCodes | kSums | kErrors, false>(scaled, pass, begin);
    case kSums | kCounts | kErrors | kValues:
        return wholeNf4Groups<kSums | kCounts | kErrors | kValues, true>(scaled, pass, begin);
    default: return 0;
    }
}
