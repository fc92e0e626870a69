// SPDX-License-Identifier: GPL-3.0-or-later
// The dense inner loop; one text for every instruction set. In units of its own: gcc 12 spills the sums when other text
// joins them. Included after lanes_*.h; the unit defines kWidth (vectors of a dense panel) and kRows.

#define QS_EACH(i, n) _Pragma("GCC unroll 16") for (int i = 0; i < n; ++i)

constexpr std::size_t kAheadA = 768, kAheadB = 1024; ///< words: what comes from the second-level cache

struct MicroF32 {
    using Sum = F;
    using B = F;
    static QS_INLINE F start(const MicroCall&, int) { return zeroF(); }
    static QS_INLINE F load(const std::uint32_t* p) { return loadF(reinterpret_cast<const float*>(p)); }
    static QS_INLINE F meet(F sum, F b, const std::uint32_t* a) { return fmaF(b, set1F(a), sum); }
    static QS_INLINE F finish(F sum, F before, const MicroCall&, int) { return addF(sum, before); }
};
#ifdef QS_PAIRS
struct MicroBf16 {
    using Sum = F;
    using B = I;
    static QS_INLINE F start(const MicroCall&, int) { return zeroF(); }
    static QS_INLINE I load(const std::uint32_t* p) { return loadI(p); }
    static QS_INLINE F meet(F sum, I b, const std::uint32_t* a) { return dotPairs(sum, b, set1I(*a)); }
    static QS_INLINE F finish(F sum, F before, const MicroCall&, int) { return addF(sum, before); }
};
#endif
#ifdef QS_QUADS
template<bool int8> struct MicroI8 {
    using Sum = I;
    using B = I;
    static QS_INLINE I start(const MicroCall& call, int row) { return set1I(std::uint32_t(call.init[row])); }
    static QS_INLINE I load(const std::uint32_t* p) { return loadI(p); }
    static QS_INLINE I meet(I sum, I b, const std::uint32_t* a) { return dotQuads<int8>(sum, b, set1I(*a)); }
    static QS_INLINE F finish(I sum, F before, const MicroCall& call, int v) {
        return fmaF(toF(sum), loadF(call.scale + std::size_t(v) * kLanes), before);
    }
};
#endif

template<class P, int rows> void micro(const MicroCall& call) {
    typename P::Sum sum[rows][kWidth];
    QS_EACH(m, rows) QS_EACH(v, kWidth) sum[m][v] = P::start(call, m);
    const std::uint32_t *a = call.a, *b = call.b;
    for (std::size_t i = call.kk; i > 0; --i, a += rows, b += std::size_t(kWidth) * kLanes) {
        typename P::B column[kWidth];
        prefetch(a + kAheadA);
        QS_EACH(v, kWidth) prefetch(b + kAheadB + std::size_t(v) * kLanes);
        QS_EACH(v, kWidth) column[v] = P::load(b + std::size_t(v) * kLanes);
        QS_EACH(m, rows) QS_EACH(v, kWidth) sum[m][v] = P::meet(sum[m][v], column[v], a + m);
    }
    const auto at = [&](int m, int v) { return call.c + (std::size_t(m) * kWidth + std::size_t(v)) * kLanes; };
    if (call.add) {
        QS_EACH(m, rows) QS_EACH(v, kWidth) storeF(at(m, v), P::finish(sum[m][v], loadF(at(m, v)), call, v));
    } else {
        QS_EACH(m, rows) QS_EACH(v, kWidth) storeF(at(m, v), P::finish(sum[m][v], zeroF(), call, v));
    }
}
