// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loop of dense products, for every instruction set. It has source files of its own, because gcc 12 spills
// the sums when other code is in the same file. Include it after lanes_*.h. The including file defines kWidth, the
// vectors of a dense panel.

#define QS_IN_ORDER asm volatile("" ::: "memory") // stores stay in the order of the source
#define QS_EACH(i, n) _Pragma("GCC unroll 16") for (int i = 0; i < n; ++i)

/// Words between a load and its prefetch from the second-level cache.
constexpr std::size_t kAheadA = 768, kAheadB = 1024;

struct MicroF32 {
    using Sum = F;
    using B = F;
    static constexpr bool grouped = false;
    static QS_INLINE F start(const std::int32_t*) { return zeroF(); }
    static QS_INLINE F load(const std::uint32_t* p) { return loadF(reinterpret_cast<const float*>(p)); }
    static QS_INLINE F meet(F sum, F b, const std::uint32_t* a) { return fmaF(b, set1F(a), sum); }
    static QS_INLINE F finish(F sum, F before, const float*) { return addF(sum, before); }
};
#ifdef QS_PAIRS
struct MicroBf16 {
    using Sum = F;
    using B = I;
    static constexpr bool grouped = false;
    static QS_INLINE F start(const std::int32_t*) { return zeroF(); }
    static QS_INLINE I load(const std::uint32_t* p) { return loadI(p); }
    static QS_INLINE F meet(F sum, I b, const std::uint32_t* a) { return dotPairs(sum, b, set1I(*a)); }
    static QS_INLINE F finish(F sum, F before, const float*) { return addF(sum, before); }
};
#endif
#ifdef QS_QUADS
template<bool int8> struct MicroI8 {
    using Sum = I;
    using B = I;
    static constexpr bool grouped = true;
    static QS_INLINE I start(const std::int32_t* init) { return set1I(std::uint32_t(*init)); }
    static QS_INLINE I load(const std::uint32_t* p) { return loadI(p); }
    static QS_INLINE I meet(I sum, I b, const std::uint32_t* a) { return dotQuads<int8>(sum, b, set1I(*a)); }
    /// A product and a sum instead of a fused multiply-add, because the multiply units are the bottleneck.
    static QS_INLINE F finish(I sum, F before, const float* scale) {
        return addF(before, mulF(toF(sum), loadF(scale)));
    }
};
#endif

/// The sums of `rows` rows times kWidth vectors.
template<class P, int rows> struct Tile {
    typename P::Sum sum[rows][kWidth];
    const std::uint32_t *a, *b;
    std::size_t bStep;

    QS_INLINE void load(typename P::B (&column)[kWidth]) {
        QS_EACH(v, kWidth) column[v] = P::load(b + std::size_t(v) * kLanes);
        b += bStep;
    }
    QS_INLINE void steps(std::size_t count) {
        for (; count > 0; --count, a += rows) {
            typename P::B column[kWidth];
            prefetch(a + kAheadA);
            QS_EACH(v, kWidth) prefetch(b + kAheadB + std::size_t(v) * kLanes);
            load(column);
            QS_EACH(m, rows) QS_EACH(v, kWidth) sum[m][v] = P::meet(sum[m][v], column[v], a + m);
        }
    }
    QS_INLINE void store(float* c, std::size_t cRow) {
        QS_EACH(m, rows) QS_EACH(v, kWidth) storeF(c + std::size_t(m) * cRow + std::size_t(v) * kLanes, sum[m][v]);
    }
    QS_INLINE void finish(int m, float* c, std::size_t cRow, const float* scale) {
        QS_EACH(v, kWidth) {
            float* const at = c + std::size_t(m) * cRow + std::size_t(v) * kLanes;
            storeF(at, P::finish(sum[m][v], loadF(at), scale + v * int(kLanes)));
        }
    }
};

template<class P, int rows> void micro(const MicroCall& call) {
    Tile<P, rows> t;
    t.a = call.a, t.b = call.b, t.bStep = call.bStep;
    const std::int32_t* init = call.init;
    const float* scale = call.scale;
    float* const c = call.c;
    const std::size_t kk = call.kk, scaleRow = call.scaleRow;
    const std::size_t cRow = call.cRow > 0 ? call.cRow : std::size_t(kWidth) * kLanes;
    if (P::grouped && !call.add)
        QS_EACH(m, rows) QS_EACH(v, kWidth) storeF(c + std::size_t(m) * cRow + std::size_t(v) * kLanes, zeroF());
    QS_EACH(m, rows) QS_EACH(v, kWidth) t.sum[m][v] = P::start(init + m);
    t.steps(kk - 1);
    if constexpr (P::grouped)
        // Row by row: the last step of a group, then the first step of the next one. So the multiply units always have
        // work.
        for (std::size_t group = call.groups; group > 1; --group) {
            typename P::B last[kWidth], first[kWidth];
            t.load(last), t.load(first);
            init += rows;
            QS_EACH(m, rows) {
                QS_EACH(v, kWidth) t.sum[m][v] = P::meet(t.sum[m][v], last[v], t.a + m);
                t.finish(m, c, cRow, scale);
                QS_EACH(v, kWidth) t.sum[m][v] = P::meet(P::start(init + m), first[v], t.a + rows + m);
                QS_IN_ORDER;
            }
            t.a += 2 * rows, scale += scaleRow;
            t.steps(kk - 2);
        }
    t.steps(1);
    if constexpr (!P::grouped)
        if (!call.add) return t.store(c, cRow);
    QS_EACH(m, rows) t.finish(m, c, cRow, scale);
}
