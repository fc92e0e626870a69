// SPDX-License-Identifier: GPL-3.0-or-later
// Few rows of x times a panel; one text for every instruction set. Included once per unit after lanes_*.h. The unit
// defines kChains (independent sums for one row of x) and, where it has them, QS_PAIRS and QS_QUADS.

constexpr std::size_t kAhead = 1024; ///< words: 4 KiB of the stream, spread through the pass

/// What code q of a word decodes to.
template<LaneCodes codes, int q> QS_INLINE F decode(I word, F table) {
    if constexpr (codes == LaneCodes::Table4) return lookup16(table, shr<4 * q>(word));
    if constexpr (codes == LaneCodes::Table2) return lookup4(table, shr<2 * q>(word));
    if constexpr (codes == LaneCodes::Table1) return lookup4(table, shr<q>(word));
    if constexpr (codes == LaneCodes::Int8) return toF(sar<24>(shl<24 - 8 * q>(word)));
    if constexpr (codes == LaneCodes::E4 || codes == LaneCodes::E5) {
        // Exponent and mantissa lie where a float has them, too small by a factor; exact, also for subnormals.
        constexpr int right = codes == LaneCodes::E4 ? 4 : 3;
        const I bits = andI(sar<right>(shl<24 - 8 * q>(word)), set1I(0x80000000u | 0x7f000000u >> right));
        return mulF(asF(bits), table);
    }
    if constexpr (codes == LaneCodes::Bf16) return asF(q == 0 ? shl<16>(word) : andI(word, set1I(0xffff0000u)));
    if constexpr (codes == LaneCodes::F16) return widenF16<q>(word);
    if constexpr (codes == LaneCodes::F32) return asF(word);
}
template<LaneCodes codes> constexpr int perWordOf() {
    constexpr int per[kLaneCodes] = {8, 16, 32, 4, 4, 4, 2, 2, 1};
    return per[int(codes)];
}

#define QS_EACH(i, n) _Pragma("GCC unroll 16") for (int i = 0; i < n; ++i)

// Multiplicands: how a word meets x. Each has a sum type, the number of meetings per word and the words of x per
// meeting.
template<LaneCodes c> struct Singles {
    using Sum = F;
    static constexpr int meetings = perWordOf<c>();
    static constexpr std::size_t xWords = 1;
    static QS_INLINE F zero() { return zeroF(); }
    static QS_INLINE F add(F a, F b) { return addF(a, b); }
    struct Table {
        F t;
    };
    static QS_INLINE Table table(const LaneWeights& w) { return {loadF(w.table)}; }
    template<int q> static QS_INLINE F decoded(I word, Table t) { return decode<c, q>(word, t.t); }
    static QS_INLINE F meet(F sum, F decoded, const std::uint32_t* x) { return fmaF(decoded, set1F(x), sum); }
    static QS_INLINE F finish(F sum, const GemvCall&, std::size_t, std::size_t) { return sum; }
};
/// Four bits of a word at once, two or four codes, look up their part of the sum: x holds a table of 16 for each of
/// them.
template<LaneCodes c> struct Lookups {
    using Sum = F;
    static constexpr int meetings = 8;
    static constexpr std::size_t xWords = 16;
    static QS_INLINE F zero() { return zeroF(); }
    static QS_INLINE F add(F a, F b) { return addF(a, b); }
    struct Table {};
    static QS_INLINE Table table(const LaneWeights&) { return {}; }
    template<int q> static QS_INLINE I decoded(I word, Table) { return shr<4 * q>(word); }
    static QS_INLINE F meet(F sum, I decoded, const std::uint32_t* x) {
        return addF(sum, lookup16(loadF(reinterpret_cast<const float*>(x)), decoded));
    }
    static QS_INLINE F finish(F sum, const GemvCall&, std::size_t, std::size_t) { return sum; }
};
/// The tables of n values of x, which are whole words of codes.
template<LaneCodes c> void lookupTables(const float* x, std::size_t n, const float* levels, std::uint32_t* out) {
    constexpr int bits = 32 / perWordOf<c>(), codes = 4 / bits;
    alignas(64) float level[codes][kLanes]; // of each code of the four bits
    for (int i = 0; i < codes; ++i)
        for (int j = 0; j < int(kLanes); ++j) level[i][j] = levels[j >> (bits * i) & ((1 << bits) - 1)];
    for (std::size_t i = 0; i < n; i += codes, out += kLanes) {
        F sum = zeroF();
        QS_EACH(j, codes) sum = fmaF(loadF(level[j]), set1F(x[i + std::size_t(j)]), sum);
        storeF(reinterpret_cast<float*>(out), sum);
    }
}
#ifdef QS_PAIRS
template<LaneCodes c> struct Pairs {
    using Sum = F;
    static constexpr int meetings = perWordOf<c>() / 2;
    static constexpr std::size_t xWords = 1;
    static QS_INLINE F zero() { return zeroF(); }
    static QS_INLINE F add(F a, F b) { return addF(a, b); }
    struct Table {
        I t;
    };
    static QS_INLINE Table table(const LaneWeights& w) { return {loadI(w.table16)}; }
    template<int q> static QS_INLINE I decoded(I word, Table t) {
        if constexpr (c == LaneCodes::Bf16) return word;
        return lookupPairs(t.t, shr<32 / perWordOf<c>() * q>(word));
    }
    static QS_INLINE F meet(F sum, I decoded, const std::uint32_t* x) { return dotPairs(sum, decoded, set1I(*x)); }
    static QS_INLINE F finish(F sum, const GemvCall&, std::size_t, std::size_t) { return sum; }
};
#endif
#ifdef QS_QUADS
template<LaneCodes c> QS_INLINE I quad(I word) { // codes of a word that already stand lowest in their bytes
    if constexpr (c == LaneCodes::Table4) return andI(word, set1I(0x0f0f0f0fu));
    if constexpr (c == LaneCodes::Table2) return andI(word, set1I(0x03030303u));
    if constexpr (c == LaneCodes::Table1) return andI(word, set1I(0x01010101u));
    if constexpr (c == LaneCodes::Int8) return word;
}
template<LaneCodes c> struct Quads {
    using Sum = I;
    static constexpr int meetings = perWordOf<c>() / 4;
    static constexpr std::size_t xWords = 1;
    static QS_INLINE I zero() { return zeroI(); }
    static QS_INLINE I add(I a, I b) { return addI(a, b); }
    struct Table {};
    static QS_INLINE Table table(const LaneWeights&) { return {}; }
    template<int q> static QS_INLINE I decoded(I word, Table) { return quad<c>(shr<32 / perWordOf<c>() * q>(word)); }
    static QS_INLINE I meet(I sum, I decoded, const std::uint32_t* x) {
        return dotQuads<c == LaneCodes::Int8>(sum, decoded, set1I(*x));
    }
    /// value = code + bias, or 2 code + bias: exact in i32.
    static QS_INLINE F finish(I sum, const GemvCall& call, std::size_t row, std::size_t group) {
        const int bias = c == LaneCodes::Int8 ? kInt8Bias : call.weights->bias;
        if (c == LaneCodes::Table1 && call.weights->table[1] - call.weights->table[0] == 2) sum = addI(sum, sum);
        return toF(
            addI(sum, set1I(std::uint32_t(bias) * std::uint32_t(call.xSums[row * call.weights->groups + group]))));
    }
};
#endif

#ifdef QS_QUADS
std::int32_t sumBytes(const std::int8_t* bytes, std::size_t n) {
    I sum = zeroI();
    std::size_t i = 0;
    for (; i + 64 <= n; i += 64) sum = dotQuads<false>(sum, set1I(0x01010101u), loadI(bytes + i));
    alignas(64) std::int32_t lanes[kLanes];
    storeI(lanes, sum);
    std::int32_t all = 0;
    for (const std::int32_t lane : lanes) all += lane;
    for (; i < n; ++i) all += bytes[i];
    return all;
}
#endif

constexpr int kVectors = int(kPanel / kLanes);

template<class P, int M, int parts, int q>
QS_INLINE void meetAll(typename P::Sum (&sum)[M][kVectors][parts], const I (&word)[kVectors], const std::uint32_t* x,
                       std::size_t xRow, std::size_t xSet, typename P::Table table) {
    if constexpr (q < P::meetings) {
        QS_EACH(v, kVectors) {
            const auto decoded = P::template decoded<q>(word[v], table);
            QS_EACH(m, M)
            sum[m][v][q % parts] = P::meet(sum[m][v][q % parts], decoded,
                                           x + std::size_t(m) * xRow + std::size_t(v) * xSet + q * P::xWords);
        }
        meetAll<P, M, parts, q + 1>(sum, word, x, xRow, xSet, table);
    }
}

template<class P, int M, bool sets> void gemv(const GemvCall& call) {
    constexpr int wanted = M * kVectors < kChains ? kChains / (M * kVectors) : 1;
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
        for (std::size_t step = 0; step < w.groupSteps; ++step, words += kPanel, x += P::meetings * P::xWords) {
            I word[kVectors];
            QS_EACH(v, kVectors) {
                word[v] = loadI(words + std::size_t(v) * kLanes);
                prefetch(words + kAhead + std::size_t(v) * kLanes);
            }
            meetAll<P, M, parts, 0>(sum, word, x, call.xRow, xSet, table);
        }
        QS_EACH(m, M) QS_EACH(v, kVectors) {
            typename P::Sum all = sum[m][v][0];
            QS_EACH(i, parts - 1) all = P::add(all, sum[m][v][i + 1]);
            const F done = P::finish(all, call, std::size_t(m), group);
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
