// SPDX-License-Identifier: GPL-3.0-or-later
// How words of codes are multiplied by few rows of x, for every instruction set. Include it after lanes_*.h. The
// including file defines QS_PAIRS and QS_QUADS if it has these products. gemv_loops_text.h comes next.

constexpr std::size_t kAhead = 1024; ///< words between a load and its prefetch: 4 KiB of the stream

/// The decoded value of code q of a word.
template<LaneCodes codes, int q> QS_INLINE F decode(I word, F table) {
    if constexpr (codes == LaneCodes::Table4) return lookup16(table, shr<4 * q>(word));
    if constexpr (codes == LaneCodes::Table2) return lookup4(table, shr<2 * q>(word));
    if constexpr (codes == LaneCodes::Table1) return lookup4(table, shr<q>(word));
    if constexpr (codes == LaneCodes::Int8) return toF(sar<24>(shl<24 - 8 * q>(word)));
    if constexpr (codes == LaneCodes::E4 || codes == LaneCodes::E5) {
        // Exponent and mantissa move to their f32 positions, and the exponent gets the bias of f32. That is the value of a normal code. A
        // subnormal code then reads as (1 + m) least / 2 instead of m least, where least is the smallest normal number (`table`). So its
        // value is twice what it reads as, minus least. For a normal code that is not smaller than the value. No f32 on the way is
        // subnormal: Intel's processors multiply subnormal numbers some twenty times slower.
        constexpr int right = codes == LaneCodes::E4 ? 4 : 3;
        const I byte = shl<24 - 8 * q>(word);
        const F normal = asF(addI(shr<right>(andI(byte, set1I(0x7f000000))), addI(asI(table), set1I(0xff800000))));
        const F value = minF(normal, fmaF(normal, set1F(2), asF(xorI(asI(table), set1I(0x80000000)))));
        return asF(xorI(asI(value), andI(byte, set1I(0x80000000))));
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
#define QS_IN_ORDER asm volatile("" ::: "memory") // values loaded before are loaded again and not kept in registers

// Multiplicands: how a word is multiplied by x. Each has a type of sums, a number of products per word ("meetings"),
// and the words of x that one product reads.
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
    template<int q, int> static QS_INLINE F decoded(I word, const Table& t) { return decode<c, q>(word, t.t); }
    template<int> static QS_INLINE F whole(F part) { return part; }
    static QS_INLINE F meet(F sum, F decoded, const std::uint32_t* x) { return fmaF(decoded, set1F(x), sum); }
    static QS_INLINE F finish(F sum, const GemvCall&, std::size_t, std::size_t) { return sum; }
};
/// Looks up the sum of two or four codes at once: four bits of a word are the index. For each of them, x holds a table
/// of 16 sums.
template<LaneCodes c> struct Lookups {
    using Sum = F;
    static constexpr int meetings = 8;
    static constexpr std::size_t xWords = 16;
    static QS_INLINE F zero() { return zeroF(); }
    static QS_INLINE F add(F a, F b) { return addF(a, b); }
    struct Table {};
    static QS_INLINE Table table(const LaneWeights&) { return {}; }
    template<int q, int> static QS_INLINE I decoded(I word, const Table&) { return shr<4 * q>(word); }
    template<int> static QS_INLINE F whole(F part) { return part; }
    static QS_INLINE F meet(F sum, I decoded, const std::uint32_t* x) {
        return addF(sum, lookup16(loadF(reinterpret_cast<const float*>(x)), decoded));
    }
    static QS_INLINE F finish(F sum, const GemvCall&, std::size_t, std::size_t) { return sum; }
};
/// Makes these tables for n values of x, which belong to whole words of codes.
template<LaneCodes c> void lookupTables(const float* x, std::size_t n, const float* levels, std::uint32_t* out) {
    constexpr int bits = 32 / perWordOf<c>(), codes = 4 / bits;
    alignas(64) float level[codes][kLanes]; // the level of each code among the four bits
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
    /// A lookup uses the low five bits of an index. For codes of 1 and 2 bits, a table per shift replaces the shift.
    static constexpr int bits = 32 / perWordOf<c>(), tables = bits >= 4 ? 1 : 4 / bits;
    struct Table {
        I t[tables];
    };
    static QS_INLINE Table table(const LaneWeights& w) {
        Table all;
        QS_EACH(i, tables) all.t[i] = loadI(w.table16[bits * i]);
        return all;
    }
    template<int> static QS_INLINE F whole(F part) { return part; }
    template<int q, int> static QS_INLINE I decoded(I word, const Table& t) {
        if constexpr (c == LaneCodes::Bf16) return word;
        return lookupPairs(t.t[q % tables], shr<bits*(q - q % tables)>(word));
    }
    static QS_INLINE F meet(F sum, I decoded, const std::uint32_t* x) { return dotPairs(sum, decoded, set1I(*x)); }
    static QS_INLINE F finish(F sum, const GemvCall&, std::size_t, std::size_t) { return sum; }
};
#endif
#ifdef QS_QUADS
/// The codes of a word that are `up` bits above the lowest bit of their byte.
template<LaneCodes c, int up = 0> QS_INLINE I quad(I word) {
    if constexpr (c == LaneCodes::Table4) return andI(word, set1I(0x0f0f0f0fu << up));
    if constexpr (c == LaneCodes::Table2) return andI(word, set1I(0x03030303u << up));
    if constexpr (c == LaneCodes::Table1) return andI(word, set1I(0x01010101u << up));
    if constexpr (c == LaneCodes::Int8) return word;
}
template<LaneCodes c> struct Quads {
    using Sum = I;
    static constexpr int meetings = perWordOf<c>() / 4, bits = 32 / perWordOf<c>();
    static constexpr std::size_t xWords = 1;
    static QS_INLINE I zero() { return zeroI(); }
    static QS_INLINE I add(I a, I b) { return addI(a, b); }
    struct Table {};
    static QS_INLINE Table table(const LaneWeights&) { return {}; }
    /// Part q % parts of the sum uses its codes in place, without a shift, so they are too large by a power of two.
    /// With at most 131071 codes in all, the products still stay below 2^31: the worst case is 15 * 16 * 128 for every
    /// second code.
    template<int q, int parts> static QS_INLINE I decoded(I word, const Table&) {
        return quad<c, bits*(q % parts)>(shr<bits*(q - q % parts)>(word));
    }
    template<int part> static QS_INLINE I whole(I sum) { return sar<bits * part>(sum); }
    static QS_INLINE I meet(I sum, I decoded, const std::uint32_t* x) {
        return dotQuads<c == LaneCodes::Int8>(sum, decoded, set1I(*x));
    }
#ifdef QS_SHORT_SUMS
    /// Words whose products may be added in 16 bits: a pair of products is at most 2 * 128 * the largest code. 0:
    /// signed codes.
    static constexpr int largest = (1 << 32 / perWordOf<c>()) - 1;
    static constexpr std::size_t shortWords = c == LaneCodes::Int8 ? 0 : 32767 / (2 * 128 * largest * meetings);
    template<int q> static QS_INLINE I meetShort(I shorts, I word, const std::uint32_t* x) {
        return addShorts(shorts, dotShorts(decoded<q, 1>(word, {}), set1I(x[q])));
    }
    static QS_INLINE I widen(I sum, I shorts) { return widenShorts(sum, shorts); }
#endif
    /// value = code + bias, or 2 * code + bias: exact in i32.
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
    I sum = zeroI(), other = zeroI(); // two sums, so that additions do not wait for each other
    std::size_t i = 0;
    for (; i + 128 <= n; i += 128) {
        sum = dotQuads<false>(sum, set1I(0x01010101u), loadI(bytes + i));
        other = dotQuads<false>(other, set1I(0x01010101u), loadI(bytes + i + 64));
    }
    if (i + 64 <= n) sum = dotQuads<false>(sum, set1I(0x01010101u), loadI(bytes + i)), i += 64;
    alignas(64) std::int32_t lanes[kLanes];
    storeI(lanes, addI(sum, other));
    std::int32_t all = 0;
    for (const std::int32_t lane : lanes) all += lane;
    for (; i < n; ++i) all += bytes[i];
    return all;
}
#endif
