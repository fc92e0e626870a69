// SPDX-License-Identifier: GPL-3.0-or-later
// Few rows of x times a panel, in fixed point. A byte shuffle looks up 32 levels at once; a float table gives 8 levels
// for more work. One multiply instruction also adds pairs. The integer sums are exact. Include after gemv_text.h.

/// Stores the 16-bit x of one word of codes in the order of the products: product q needs the x of codes q + b *
/// perWord / 4.
template<LaneCodes c> QS_INLINE void storeFixed(const __m128i (&shorts)[perWordOf<c>() / 8], std::uint32_t* out) {
    auto* to = reinterpret_cast<__m128i*>(out);
    if constexpr (c == LaneCodes::Table4) {
        const __m128i order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
        _mm_storeu_si128(to, _mm_shuffle_epi8(shorts[0], order));
    } else {
        const __m128i order = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
        const __m128i a = _mm_shuffle_epi8(shorts[0], order), b = _mm_shuffle_epi8(shorts[1], order);
        _mm_storeu_si128(to, _mm_unpacklo_epi32(a, b)), _mm_storeu_si128(to + 1, _mm_unpackhi_epi32(a, b));
    }
}

#include "kernels/simd/fold_fixed_text.h"

constexpr std::size_t kFixedAhead = 2 * kAhead;

struct FixedTables {
    __m256i low, high, mask;
};
/// Sums of eight lanes in the order of the unpack instructions: lanes 0 1 4 5 in a, 2 3 6 7 in b, two sums for each
/// lane.
struct FixedSums {
    __m256i a, b;
};
template<LaneCodes c, bool highOnly, int M, int q>
QS_INLINE void meetFixed(FixedSums (&sum)[M], __m256i word, const std::uint32_t* x, std::size_t xRow,
                         const FixedTables& t) {
    if constexpr (q < perWordOf<c>() / 4) {
        constexpr int bits = 32 / perWordOf<c>();
        const __m256i codes = _mm256_and_si256(q == 0 ? word : _mm256_srli_epi32(word, bits * q), t.mask);
        const __m256i high = _mm256_shuffle_epi8(t.high, codes);
        const __m256i low = highOnly ? _mm256_setzero_si256() : _mm256_shuffle_epi8(t.low, codes);
        const __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
        QS_EACH(m, M) {
            long long four;
            __builtin_memcpy(&four, x + std::size_t(m) * xRow + 2 * q, 8);
            const __m256i xs = _mm256_set1_epi64x(four);
            sum[m].a = _mm256_add_epi32(sum[m].a, _mm256_madd_epi16(a, xs));
            sum[m].b = _mm256_add_epi32(sum[m].b, _mm256_madd_epi16(b, xs));
        }
        meetFixed<c, highOnly, M, q + 1>(sum, word, x, xRow, t);
    }
}

template<LaneCodes c, bool highOnly, int M>
QS_INLINE void meetWord(FixedSums (&sum)[M], const std::uint32_t* word, const std::uint32_t* x, std::size_t xRow,
                        const FixedTables& t) {
    meetFixed<c, highOnly, M, 0>(sum, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(word)), x, xRow, t);
}
QS_INLINE __m256i fixedTable(const std::uint8_t* bytes) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
}

template<LaneCodes c, bool highOnly, int M, bool sets> void gemvFixed(const GemvCall& call) {
    constexpr std::size_t xWords = perWordOf<c>() / 2;
    const LaneWeights& w = *call.weights;
    const FixedTables t = {fixedTable(w.fixed.low), fixedTable(w.fixed.high),
                           _mm256_set1_epi8(char((1 << 32 / perWordOf<c>()) - 1))};
    const float* factors = reinterpret_cast<const float*>(call.x + w.streamSize());
    const std::size_t scalesAhead = (kAhead / (w.groupSteps * kPanel) + 1) * kPanel;
    alignas(32) float y[M][kPanel] = {};
    for (std::size_t group = 0, step = 0; group < w.groups; ++group) {
        const float* scales = call.scales ? call.scales + group * kPanel : nullptr;
        for (const std::size_t end = step + w.groupSteps; step < end;) {
            const std::size_t some = std::min(end - step, kFixedSteps - step % kFixedSteps);
            for (std::size_t lane = 0; lane < kPanel; lane += 8) {
                const std::size_t set = sets ? lane / kLanes * call.xSet : 0;
                const std::uint32_t *word = call.words + step * kPanel + lane, *x = call.x + step * xWords + set;
                // Prefetches in memory order, although the lanes are read in another order.
                const std::uint32_t* ahead = call.words + (step * kPanel + lane / 8 * some * 8) + kFixedAhead;
                FixedSums sum[M];
                QS_EACH(m, M) sum[m] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
                if (some == kFixedSteps && M == 1) {
                    QS_EACH(i, int(kFixedSteps)) {
                        if (i % 2 == 0) prefetch(ahead + i * 8);
                        meetWord<c, highOnly, M>(sum, word + i * int(kPanel), x + i * int(xWords), call.xRow, t);
                    }
                } else {
                    for (std::size_t i = 0; i < some; ++i) {
                        prefetch(ahead + i * 8);
                        meetWord<c, highOnly, M>(sum, word + i * kPanel, x + i * xWords, call.xRow, t);
                    }
                }
                if (scales && lane % kLanes == 0) prefetch(scales + scalesAhead + lane);
                QS_EACH(m, M) {
                    const __m256 sums = _mm256_cvtepi32_ps(_mm256_hadd_epi32(sum[m].a, sum[m].b));
                    const float factor = factors[std::size_t(m) * call.xRow + set + step / kFixedSteps];
                    __m256 part = _mm256_mul_ps(sums, _mm256_set1_ps(factor));
                    if (scales) part = _mm256_mul_ps(part, _mm256_loadu_ps(scales + lane));
                    _mm256_store_ps(&y[m][lane], _mm256_add_ps(_mm256_load_ps(&y[m][lane]), part));
                }
            }
            step += some;
        }
    }
    QS_EACH(m, M) __builtin_memcpy(call.y + std::size_t(m) * kPanel, y[m], sizeof y[m]);
}

template<LaneCodes c, bool highOnly, bool sets> void gemvFixedOf(const GemvCall& call) {
    if (call.rows == 1) return gemvFixed<c, highOnly, 1, sets>(call);
    if (call.rows == 2) return gemvFixed<c, highOnly, 2, sets>(call);
    gemvFixed<c, highOnly, 4, sets>(call);
}
template<LaneCodes c, bool sets> void gemvFixedRows(const GemvCall& call) {
    if (c == LaneCodes::Table2 || call.weights->fixed.highOnly) return gemvFixedOf<c, true, sets>(call);
    if constexpr (c == LaneCodes::Table4) gemvFixedOf<c, false, sets>(call);
}
