// SPDX-License-Identifier: GPL-3.0-or-later
// Few rows of x times a panel, in fixed point. One lookup gives 32 levels of 16 bits, and one instruction of VNNI
// multiplies them and adds pairs to exact integer sums. Include after gemv_text.h.
//
// Intel's processors need it: they multiply f32 at the same rate but look up only 16 levels at once, and multiply bf16 at
// less than half of that rate. They also need a second prefetch, further ahead, into the second-level cache: their first
// level waits for few lines at once. Every second line is enough, and costs nothing on AMD's. Measured on Emerald Rapids:
// 86 and 87 % of the read stream; without it 83 %; with it alone 83 and 87 %, but 70 % instead of 101 % on Zen 4.

/// Stores the 16-bit x of one word of codes in the order of the products: product q needs the x of codes q and q +
/// perWord / 2.
template<LaneCodes c> QS_INLINE void storeFixed(const __m128i (&shorts)[perWordOf<c>() / 8], std::uint32_t* out) {
    auto* to = reinterpret_cast<__m128i*>(out);
    if constexpr (c == LaneCodes::Table4) {
        const __m128i order = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
        _mm_storeu_si128(to, _mm_shuffle_epi8(shorts[0], order));
    } else {
        _mm_storeu_si128(to, _mm_unpacklo_epi16(shorts[0], shorts[1]));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(shorts[0], shorts[1]));
    }
}

#include "kernels/simd/fold_fixed_text.h"

template<LaneCodes c, int M, int parts, int q>
QS_INLINE void meetFixed(I (&sum)[M][kVectors][parts], int v, I word, const std::uint32_t* x, std::size_t xRow,
                         I table) {
    if constexpr (q < perWordOf<c>() / 2) {
        const I levels = lookupPairs(table, shr<32 / perWordOf<c>() * q>(word));
        QS_EACH(m, M)
        sum[m][v][q % parts] = dotShorts(sum[m][v][q % parts], levels, set1I(x[std::size_t(m) * xRow + q]));
        meetFixed<c, M, parts, q + 1>(sum, v, word, x, xRow, table);
    }
}

/// The levels as 32 integers for lookupPairs(): 16 and the same 16 again.
QS_INLINE I fixedTable(const FixedLevels& levels) {
    const __m256i low = _mm256_cvtepu8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(levels.low)));
    const __m256i high = _mm256_cvtepu8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(levels.high)));
    return {_mm512_broadcast_i64x4(_mm256_or_si256(low, _mm256_slli_epi16(high, 8)))};
}

template<LaneCodes c, int M, bool sets> void gemvFixed(const GemvCall& call) {
    constexpr std::size_t xWords = perWordOf<c>() / 2;
    constexpr int parts = M < 4 ? 2 : 1; // sums of one lane, so that additions do not wait for each other
    const LaneWeights& w = *call.weights;
    const I table = fixedTable(w.fixed);
    const float* factors = reinterpret_cast<const float*>(call.x + w.streamSize());
    const std::size_t xSet = sets ? call.xSet : 0, scalesAhead = (kAhead / (w.groupSteps * kPanel) + 1) * kPanel;
    const std::uint32_t *words = call.words, *x = call.x;
    F y[M][kVectors];
    QS_EACH(m, M) QS_EACH(v, kVectors) y[m][v] = zeroF();
    for (std::size_t group = 0, step = 0; group < w.groups; ++group) {
        const float* scales = call.scales ? call.scales + group * kPanel : nullptr;
        if (scales) QS_EACH(v, kVectors) prefetch(scales + (scalesAhead + std::size_t(v) * kLanes));
        for (const std::size_t end = step + w.groupSteps; step < end;) {
            const std::size_t some = std::min(end - step, kFixedSteps - step % kFixedSteps);
            I sum[M][kVectors][parts];
            QS_EACH(m, M) QS_EACH(v, kVectors) QS_EACH(i, parts) sum[m][v][i] = zeroI();
            for (std::size_t i = 0; i < some; ++i, words += kPanel, x += xWords) QS_EACH(v, kVectors) {
                    const I word = loadI(words + v * int(kLanes));
                    prefetch(words + kAhead + v * int(kLanes));
                    if (v % 2 == 0)
                        _mm_prefetch(reinterpret_cast<const char*>(words + 2 * kAhead + v * int(kLanes)), _MM_HINT_T1);
                    meetFixed<c, M, parts, 0>(sum, v, word, x + std::size_t(v) * xSet, call.xRow, table);
                }
            QS_EACH(m, M) QS_EACH(v, kVectors) {
                F factor = set1F(factors[std::size_t(m) * call.xRow + std::size_t(v) * xSet + step / kFixedSteps]);
                if (scales) factor = mulF(factor, loadF(scales + v * int(kLanes)));
                I whole = sum[m][v][0];
                if constexpr (parts == 2) whole = addI(whole, sum[m][v][1]);
                y[m][v] = fmaF(toF(whole), factor, y[m][v]);
            }
            step += some;
        }
    }
    QS_EACH(m, M) QS_EACH(v, kVectors) storeF(call.y + std::size_t(m) * kPanel + std::size_t(v) * kLanes, y[m][v]);
}

template<LaneCodes c, bool sets> void gemvFixedRows(const GemvCall& call) {
    if (call.rows == 1) return gemvFixed<c, 1, sets>(call);
    if (call.rows == 2) return gemvFixed<c, 2, sets>(call);
    gemvFixed<c, 4, sets>(call);
}
