// SPDX-License-Identifier: GPL-3.0-or-later
// The dense inner loop; one text for every instruction set. In units of its own: gcc 12 spills the sums when other text
// joins them. Included after lanes_*.h; the unit defines kWidth (vectors of a dense panel) and kRows.

#define QS_EACH(i, n) _Pragma("GCC unroll 16") for (int i = 0; i < n; ++i)

struct MicroF32 {
    using Sum = F;
    using B = F;
    static QS_INLINE F zero() { return zeroF(); }
    static QS_INLINE F load(const std::uint32_t* p) { return loadF(reinterpret_cast<const float*>(p)); }
    static QS_INLINE F meet(F sum, F b, const std::uint32_t* a) { return fmaF(b, set1F(a), sum); }
    static QS_INLINE F finish(F sum, const MicroCall&, int, int) { return sum; }
};
#ifdef QS_PAIRS
struct MicroBf16 {
    using Sum = F;
    using B = I;
    static QS_INLINE F zero() { return zeroF(); }
    static QS_INLINE I load(const std::uint32_t* p) { return loadI(p); }
    static QS_INLINE F meet(F sum, I b, const std::uint32_t* a) { return dotPairs(sum, b, set1I(*a)); }
    static QS_INLINE F finish(F sum, const MicroCall&, int, int) { return sum; }
};
#endif
#ifdef QS_QUADS
template<bool int8> struct MicroI8 {
    using Sum = I;
    using B = I;
    static QS_INLINE I zero() { return zeroI(); }
    static QS_INLINE I load(const std::uint32_t* p) { return loadI(p); }
    static QS_INLINE I meet(I sum, I b, const std::uint32_t* a) { return dotQuads<int8>(sum, b, set1I(*a)); }
    static QS_INLINE F finish(I sum, const MicroCall& call, int row, int v) {
        if (call.twice) sum = addI(sum, sum);
        const F value = toF(addI(sum, set1I(std::uint32_t(call.init[row]))));
        return call.scale ? mulF(value, loadF(call.scale + std::size_t(v) * kLanes)) : value;
    }
};
#endif

template<class P, int rows> void micro(const MicroCall& call) {
    typename P::Sum sum[rows][kWidth];
    QS_EACH(m, rows) QS_EACH(v, kWidth) sum[m][v] = P::zero();
    const std::uint32_t *a = call.a, *b = call.b;
    for (std::size_t i = call.kk; i > 0; --i, a += rows, b += std::size_t(kWidth) * kLanes) {
        typename P::B column[kWidth];
        QS_EACH(v, kWidth) column[v] = P::load(b + std::size_t(v) * kLanes);
        QS_EACH(m, rows) QS_EACH(v, kWidth) sum[m][v] = P::meet(sum[m][v], column[v], a + m);
    }
    QS_EACH(m, rows) QS_EACH(v, kWidth) {
        float* c = call.c + (std::size_t(m) * kWidth + std::size_t(v)) * kLanes;
        const F done = P::finish(sum[m][v], call, m, v);
        storeF(c, call.add ? addF(loadF(c), done) : done);
    }
}
