// SPDX-License-Identifier: GPL-3.0-or-later
// Few rows of x times a panel, for every instruction set. Include after gemv_text.h. The including file defines
// kChains, the number of independent sums for one row of x, and kFewRegisters: true if one step of a panel and its sums
// do not fit the registers.

constexpr int kVectors = int(kPanel / kLanes);

template<class P, int M, int parts, int q>
QS_INLINE void meetAll(typename P::Sum (&sum)[M][kVectors][parts], const I (&word)[kVectors], const std::uint32_t* x,
                       std::size_t xRow, std::size_t xSet, const typename P::Table& table) {
    if constexpr (q < P::meetings) {
        QS_EACH(v, kVectors) {
            const auto decoded = P::template decoded<q, parts>(word[v], table);
            QS_EACH(m, M)
            sum[m][v][q % parts] = P::meet(sum[m][v][q % parts], decoded,
                                           x + std::size_t(m) * xRow + std::size_t(v) * xSet + q * P::xWords);
        }
        meetAll<P, M, parts, q + 1>(sum, word, x, xRow, xSet, table);
    }
}
template<class P, int M, int parts, int q>
QS_INLINE void meetVector(typename P::Sum (&sum)[M][kVectors][parts], int v, I word, const std::uint32_t* x,
                          std::size_t xRow, const typename P::Table& table) {
    if constexpr (q < P::meetings) {
        const auto decoded = P::template decoded<q, parts>(word, table);
        QS_EACH(m, M)
        sum[m][v][q % parts] = P::meet(sum[m][v][q % parts], decoded, x + std::size_t(m) * xRow + q * P::xWords);
        meetVector<P, M, parts, q + 1>(sum, v, word, x, xRow, table);
    }
}
#ifdef QS_SHORT_SUMS
template<class P, int M, int q>
QS_INLINE void meetShorts(I (&shorts)[M][kVectors], int v, I word, const std::uint32_t* x, std::size_t xRow) {
    if constexpr (q < P::meetings) {
        QS_EACH(m, M) shorts[m][v] = P::template meetShort<q>(shorts[m][v], word, x + std::size_t(m) * xRow);
        meetShorts<P, M, q + 1>(shorts, v, word, x, xRow);
    }
}
/// Steps of a group whose products are first added in 16 bits.
template<class P, int M>
QS_INLINE void shortSteps(I (&sum)[M][kVectors][1], const std::uint32_t* words, const std::uint32_t* x,
                          std::size_t xRow, std::size_t steps) {
    while (steps > 0) {
        const std::size_t some = steps < P::shortWords ? steps : P::shortWords;
        I shorts[M][kVectors];
        QS_EACH(m, M) QS_EACH(v, kVectors) shorts[m][v] = zeroI();
        for (std::size_t i = 0; i < some; ++i, words += kPanel, x += P::meetings) QS_EACH(v, kVectors) {
                prefetch(words + kAhead + v * int(kLanes));
                meetShorts<P, M, 0>(shorts, v, loadI(words + v * int(kLanes)), x, xRow);
                QS_IN_ORDER;
            }
        QS_EACH(m, M) QS_EACH(v, kVectors) sum[m][v][0] = P::widen(sum[m][v][0], shorts[m][v]);
        steps -= some;
    }
}
template<class P>
concept ShortSums = requires {
    requires P::shortWords >
    0;
};
#else
template<class P>
concept ShortSums = false;
#endif

template<class P, int last, int parts> QS_INLINE typename P::Sum joined(const typename P::Sum (&part)[parts]) {
    if constexpr (last == 0)
        return part[0];
    else
        return P::add(joined<P, last - 1>(part), P::template whole<last>(part[last]));
}

template<class P, int M, bool sets> void gemv(const GemvCall& call) {
    constexpr int wanted = M * kVectors < kChains && !ShortSums<P> ? kChains / (M * kVectors) : 1;
    constexpr int parts = wanted < P::meetings ? wanted : P::meetings;
    const LaneWeights& w = *call.weights;
    const typename P::Table table = P::table(w);
    const std::uint32_t *words = call.words, *x = call.x;
    const std::size_t groupsAhead = kAhead / (w.groupSteps * kPanel) + 1, xSet = sets ? call.xSet : 0;
    F y[M][kVectors];
    QS_EACH(m, M) QS_EACH(v, kVectors) y[m][v] = zeroF();
    for (std::size_t group = 0; group < w.groups; ++group) {
        const float* scales = call.scales ? call.scales + group * kPanel : nullptr;
        if (scales) QS_EACH(v, kVectors) prefetch(scales + (groupsAhead * kPanel + std::size_t(v) * kLanes));
        typename P::Sum sum[M][kVectors][parts];
        QS_EACH(m, M) QS_EACH(v, kVectors) QS_EACH(i, parts) sum[m][v][i] = P::zero();
        if constexpr (ShortSums<P>) {
            shortSteps<P, M>(sum, words, x, call.xRow, w.groupSteps);
            words += w.groupSteps * kPanel, x += w.groupSteps * P::meetings;
        } else {
            for (std::size_t step = 0; step < w.groupSteps; ++step, words += kPanel, x += P::meetings * P::xWords) {
                I word[kVectors];
                QS_EACH(v, kVectors) {
                    word[v] = loadI(words + std::size_t(v) * kLanes);
                    prefetch(words + kAhead + std::size_t(v) * kLanes);
                    if constexpr (kFewRegisters) {
                        meetVector<P, M, parts, 0>(sum, v, word[v], x + std::size_t(v) * xSet, call.xRow, table);
                        QS_IN_ORDER;
                    }
                }
                if constexpr (!kFewRegisters) meetAll<P, M, parts, 0>(sum, word, x, call.xRow, xSet, table);
            }
        }
        QS_EACH(m, M) QS_EACH(v, kVectors) {
            const F done = P::finish(joined<P, parts - 1>(sum[m][v]), call, std::size_t(m), group);
            y[m][v] = scales ? fmaF(done, loadF(scales + std::size_t(v) * kLanes), y[m][v]) : addF(y[m][v], done);
        }
    }
    QS_EACH(m, M) QS_EACH(v, kVectors) storeF(call.y + std::size_t(m) * kPanel + std::size_t(v) * kLanes, y[m][v]);
}

template<class P, bool sets> void gemvRows(const GemvCall& call) {
    if (call.rows == 1) return gemv<P, 1, sets>(call);
    if (call.rows == 2) return gemv<P, 2, sets>(call);
    gemv<P, 4, sets>(call);
}
