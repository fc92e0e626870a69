// SPDX-License-Identifier: GPL-3.0-or-later
// nf4 at memory bandwidth: blocks that are multiples of 16, up to 16 of them at a time.
//
// x / a is never computed. x / a, rounded to f32, reaches a threshold exactly if x is at least the next f32 above
// midpoint * a. So each block gets its 15 thresholds in units of x: one product, exact in f64, and one directed
// rounding. An estimate of x / a is enough to choose the threshold to compare with.

/// Sums in two f32 chains over about 1024 values, in f64 beyond.
struct Nf4Sums {
    Doubles totalSe2, totalSw2;
    __m512 se2[2], sw2[2], maxAbs[2];
    std::size_t pending;
    QS_INLINE void flush() {
        totalSe2 = totalSe2 + toDoubles({_mm512_add_ps(se2[0], se2[1])});
        totalSw2 = totalSw2 + toDoubles({_mm512_add_ps(sw2[0], sw2[1])});
        se2[0] = se2[1] = sw2[0] = sw2[1] = _mm512_setzero_ps();
        pending = 0;
    }
};

/// The state of one block in registers: its thresholds and, if kSums, its decoded values.
template<bool kSums> struct Nf4Block {
    __m512 low, high, inverse15, values;
    __m512i lowCode, highCode;

    QS_INLINE __m512i codes(__m512 x) const {
        const __m512i bucket =
            _mm512_castps_si512(_mm512_fmadd_ps(x, inverse15, _mm512_set1_ps(Nf4Thresholds::kBucketOffset)));
        const __m512i code = _mm512_permutex2var_epi32(lowCode, bucket, highCode);
        const __mmask16 above = _mm512_cmp_ps_mask(x, _mm512_permutex2var_ps(low, bucket, high), _CMP_GE_OQ);
        return _mm512_mask_sub_epi32(code, above, code, _mm512_set1_epi32(-1));
    }
    QS_INLINE void measure(__m512 x, __m512i code, __m512& se2, __m512& sw2, __m512& maxAbs) const {
        constexpr int kLargestMagnitude = 0xb;
        const __m512 e = _mm512_sub_ps(_mm512_permutexvar_ps(code, values), x);
        maxAbs = _mm512_range_ps(maxAbs, e, kLargestMagnitude);
        se2 = _mm512_fmadd_ps(e, e, se2); // the limits of the blocks keep the squares in range
        sw2 = _mm512_fmadd_ps(x, x, sw2);
    }
};

/// Encodes 64 values to 32 bytes. kPast: non-temporal stores past the caches; `packed` is then aligned to 32 bytes.
template<bool kSums, bool kPast>
QS_INLINE void packNf4Turn(const Nf4Block<kSums>& block, const float* x, std::uint8_t* packed, Nf4Sums& sums) {
    // After the packs, a 128-bit lane holds four codes of each vector. Pairs of codes become bytes in u16; then the
    // order is fixed.
    const __m512i order =
        _mm512_castsi256_si512(_mm256_setr_epi8(0, 2, 16, 18, 32, 34, 48, 50, 4, 6, 20, 22, 36, 38, 52, 54, 8, 10, 24,
                                                26, 40, 42, 56, 58, 12, 14, 28, 30, 44, 46, 60, 62));
    const __m512i weights = _mm512_set1_epi16(0x0110); // first code times 16, second times 1
    __m512i code[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) { // unrolled, otherwise the codes go through memory
        const float* p = x + 16 * k;
        // Into the second-level cache: the first level of Intel's processors waits for few lines at once. Measured on one (Emerald Rapids):
        // 71 to 77 % of the read stream; into the first level 65 to 72 %.
        _mm_prefetch(reinterpret_cast<const char*>(p + 3072), _MM_HINT_T1);
        const __m512 w = _mm512_loadu_ps(p);
        code[k] = block.codes(w);
        if constexpr (kSums) block.measure(w, code[k], sums.se2[k % 2], sums.sw2[k % 2], sums.maxAbs[k % 2]);
    }
    const __m512i bytes =
        _mm512_packus_epi16(_mm512_packus_epi32(code[0], code[1]), _mm512_packus_epi32(code[2], code[3]));
    const __m512i pairs = _mm512_maddubs_epi16(bytes, weights);
    const __m256i all = _mm512_castsi512_si256(_mm512_permutexvar_epi8(order, pairs));
    if constexpr (kPast)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(packed), all);
    else
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(packed), all);
}

/// kBlock: the number of values if it is a compile-time constant, else 0.
template<bool kSums, std::size_t kBlock, bool kPast>
QS_INLINE void packNf4Block(const Nf4Block<kSums>& block, const float* x, std::size_t n, std::uint8_t* packed,
                            Nf4Sums& sums) {
    if constexpr (kBlock == 64) {
        packNf4Turn<kSums, kPast>(block, x, packed, sums);
        if constexpr (kSums)
            if ((sums.pending += 64) >= 1024) sums.flush();
        return;
    }
    for (std::size_t done = 0; done < n;) {
        [[maybe_unused]] const std::size_t from = done;
        const std::size_t stop = kSums && n - done > 512 ? done + 512 : n; // f32 sums over short stretches only
        for (; done + 64 <= stop; done += 64) packNf4Turn<kSums, kPast>(block, x + done, packed + done / 2, sums);
        for (; done < stop && done + 64 > stop; done += 16) {
            const __m512 w = _mm512_loadu_ps(x + done);
            const __m512i code = block.codes(w);
            if constexpr (kSums) block.measure(w, code, sums.se2[0], sums.sw2[0], sums.maxAbs[0]);
            const __m128i pairs = _mm_maddubs_epi16(_mm512_cvtepi32_epi8(code), _mm_set1_epi16(0x0110));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(packed + done / 2), _mm_packus_epi16(pairs, pairs));
        }
        if constexpr (kSums) {
            sums.pending += stop - from;
            if (sums.pending >= 1024) sums.flush();
        }
    }
}

template<bool kSums, std::size_t kBlock, bool kPast>
__attribute__((noinline)) void quantizeNf4Blocks(const float* x, std::size_t blocks, std::size_t blockGiven,
                                                 std::uint8_t* packed, float* absmax, ErrorSums* sums) {
    const std::size_t block = kBlock ? kBlock : blockGiven;
    const Nf4Thresholds& t = nf4Thresholds();
    const __m512 none = _mm512_setzero_ps();
    Nf4Sums total = {zeroDoubles(), zeroDoubles(), {none, none}, {none, none}, {none, none}, 0};
    const __m512d middle0 = _mm512_load_pd(t.midpoint), middle1 = _mm512_load_pd(t.midpoint + 8);
    const __m512i lowIndex = _mm512_load_si512(t.bucketIndex), highIndex = _mm512_load_si512(t.bucketIndex + 16);
    Nf4Block<kSums> state;
    state.lowCode = _mm512_load_si512(t.bucketCode), state.highCode = _mm512_load_si512(t.bucketCode + 16);
    const __m512 levels = _mm512_loadu_ps(nf4Levels().data());
    const std::size_t together = block >= 4096 ? 1 : block * 16 <= 4096 ? 16 : 4096 / block;
    std::uint64_t measured = 0;
    alignas(64) float bounds[16], aux[16], inverse15[16], lows[16][16], highs[16][16];
    // The largest magnitudes of the blocks that come next. They are found between the codes of the blocks before, so that
    // memory is read all the time: measured on Emerald Rapids.
    __m512i maxima[16];
    const auto findMaximum = [&](std::size_t k, std::size_t at) {
        maxima[k] = at < blocks ? maxBitsOf(x + at * block, block) : _mm512_setzero_si512();
    };
    for (std::size_t k = 0; k < 16; ++k) findMaximum(k, k < together ? k : blocks);
    for (std::size_t first = 0; first < blocks; first += together) {
        const std::size_t count = blocks - first < together ? blocks - first : together;
        for (std::size_t i = 0; i < count * block; i += kPage) __builtin_prefetch(x + first * block + i + 6144);
        const __m512i maxBits = maxOfEach(maxima);
        // These groups need the general function: infinite, NaN, or so large or small (but not 0) that a reciprocal
        // leaves the normal range. If errors are measured, the same holds for a square.
        const __mmask16 large = _mm512_cmpgt_epu32_mask(maxBits, _mm512_set1_epi32(kSums ? 0x5b000000 : 0x7b800000));
        const __mmask16 small = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(maxBits, _mm512_set1_epi32(1)),
                                                        _mm512_set1_epi32(kSums ? 0x2d800000 : 0x03800000));
        if (large | small) {
            quantizeNf4AnyBlock(x + first * block, count * block, block, packed + first * block / 2, absmax + first,
                                sums);
            for (std::size_t k = 0; k < together; ++k) findMaximum(k, first + together + k);
            continue;
        }
        const __m512 bound = _mm512_castsi512_ps(maxBits);
        const __m512 divisor = _mm512_add_ps(bound, _mm512_set1_ps(1.17549435e-38f));
        const __m512 reciprocal = _mm512_div_ps(_mm512_set1_ps(1.0f), divisor);
        _mm512_mask_storeu_ps(absmax + first, firstLanes(count).m, bound);
        _mm512_store_ps(bounds, bound); // stored again for reading: a masked store is not forwarded to loads
        _mm512_store_ps(aux, divisor);
        _mm512_store_ps(inverse15, _mm512_min_ps(_mm512_mul_ps(reciprocal, _mm512_set1_ps(Nf4Thresholds::kBucketScale)),
                                                 // Finite, so that 0 * inverse15 is 0.
                                                 _mm512_set1_ps(3.402823466e38f)));
        // A separate loop: otherwise the codes of a block would wait for this chain, and the next block would wait for
        // the codes.
        for (std::size_t k = 0; k < count; ++k) {
            const __m512d a = _mm512_set1_pd(double(aux[k]));
            constexpr int kUp = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
            const __m512 thresholds =
                _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvt_roundpd_ps(_mm512_mul_pd(middle0, a), kUp)),
                                   _mm512_cvt_roundpd_ps(_mm512_mul_pd(middle1, a), kUp), 1);
            _mm512_store_ps(lows[k], _mm512_permutexvar_ps(lowIndex, thresholds));
            _mm512_store_ps(highs[k], _mm512_permutexvar_ps(highIndex, thresholds));
        }
        for (std::size_t k = 0; k < count; ++k) {
            state.low = _mm512_load_ps(lows[k]), state.high = _mm512_load_ps(highs[k]);
            state.inverse15 = _mm512_set1_ps(inverse15[k]);
            if constexpr (kSums) state.values = _mm512_mul_ps(levels, _mm512_set1_ps(bounds[k]));
            const std::size_t at = (first + k) * block;
            packNf4Block<kSums, kBlock, kPast>(state, x + at, block, packed + at / 2, total);
            findMaximum(k, first + together + k);
        }
        measured += count * block;
    }
    if constexpr (kSums) {
        sums->n += double(measured);
        total.flush();
        sums->se2 += fold(total.totalSe2);
        sums->sw2 += fold(total.totalSw2);
        const float maxAbs = _mm512_reduce_max_ps(_mm512_max_ps(total.maxAbs[0], total.maxAbs[1]));
        if (maxAbs > sums->maxAbs) sums->maxAbs = maxAbs;
    }
}

template<bool kSums> auto nf4Blocks(std::size_t block, bool past) {
    if (past) return quantizeNf4Blocks<kSums, 64, true>;
    return block == 64 ? quantizeNf4Blocks<kSums, 64, false> : quantizeNf4Blocks<kSums, 0, false>;
}

inline void quantizeNf4Packed(const float* x, std::size_t n, std::size_t block, std::uint8_t* packed, float* absmax,
                              ErrorSums* sums) {
    const std::size_t blocks = block % 16 == 0 ? n / block : 0, done = blocks * block;
    if (blocks) {
        const bool past = block == 64 && n >= kPastCaches && reinterpret_cast<std::uintptr_t>(packed) % 32 == 0;
        const auto run = sums ? nf4Blocks<true>(block, past) : nf4Blocks<false>(block, past);
        run(x, blocks, block, packed, absmax, sums);
        if (past) _mm_sfence();
    }
    if (done < n) quantizeNf4AnyBlock(x + done, n - done, block, packed + done / 2, absmax + blocks, sums);
}
