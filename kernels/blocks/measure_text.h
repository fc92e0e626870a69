// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of values that a codec decoded: f64 sums over 8 lanes.

using Doubles = double __attribute__((vector_size(64)));

QS_INLINE Doubles lower(Floats v) {
    return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), Doubles);
}
QS_INLINE Doubles upper(Floats v) {
    return __builtin_convertvector(__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15), Doubles);
}
QS_INLINE double foldDoubles(Doubles v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }
QS_INLINE std::uint64_t count(Ints minusOnes) {
    std::int64_t sum = 0;
    for (int i = 0; i < 16; ++i) sum -= minusOnes[i];
    return std::uint64_t(sum);
}
QS_INLINE Floats where(Ints mask, Floats v) { return (Floats)((Ints)v & mask); }

inline void measure(const BlockValues& values, const RunOut& out, float* errors, float* places) {
    const bool placed = values.codes && places;
    if (placed)
        for (std::size_t i = 0; i < values.n; ++i) places[i] = values.levels[values.codes[i]];
    const float low = placed ? values.levels[0] * 1.000001f : 0;
    const float high = placed ? values.levels[values.levelCount - 1] * 1.000001f : 0;
    const Floats nan = all(std::numeric_limits<float>::quiet_NaN());
    Doubles se = {}, se2 = {}, sae = {}, sw2 = {}, swv = {}, sv2 = {};
    Ints finites = {}, clipped = {}, zeros = {}, flips = {};
    Floats most = {};
    for (std::size_t begin = 0, group = 0; begin < values.n; begin += values.group, ++group) {
        Doubles groupSe2 = {}, groupSw2 = {};
        Floats groupMost = {};
        const float scale = values.scales[group], inverse = scale != 0 ? 1 / scale : 0.0f;
        for (std::size_t i = begin; i < begin + values.group; i += 16) {
            const Floats x = load(values.x + i), decoded = load(values.decoded + i);
            const Ints finite = magnitude(x) <= std::numeric_limits<float>::max();
            const Floats w = where(finite, x), v = where(finite, decoded), e = v - w, size = magnitude(e);
            se += lower(e), se += upper(e);
            sae += lower(size), sae += upper(size);
            groupSe2 += lower(e) * lower(e), groupSe2 += upper(e) * upper(e);
            groupSw2 += lower(w) * lower(w), groupSw2 += upper(w) * upper(w);
            swv += lower(w) * lower(v), swv += upper(w) * upper(v);
            sv2 += lower(v) * lower(v), sv2 += upper(v) * upper(v);
            most = larger(size, most), groupMost = larger(magnitude(w), groupMost);
            finites += finite;
            zeros += (v == 0.0f) & finite;
            flips += ((w < 0.0f) & (v > 0.0f)) | ((w > 0.0f) & (v < 0.0f));
            store(errors + i, finite ? e : nan);
            if (!placed) continue;
            const Floats place = scale != 0 ? load(places + i) - e * inverse : Floats{};
            clipped += scale != 0 ? ((place < low) | (place > high)) & finite : e != 0.0f;
            store(places + i, finite ? place : nan);
        }
        se2 += groupSe2, sw2 += groupSw2;
        if (out.groupSse) out.groupSse[group] = float(foldDoubles(groupSe2));
        if (out.groupSsw) out.groupSsw[group] = float(foldDoubles(groupSw2));
        if (out.groupAbsMax) out.groupAbsMax[group] = largest(groupMost);
    }
    if (!out.sums) return;
    ErrorSums sums;
    sums.n = double(count(finites));
    sums.se = foldDoubles(se), sums.se2 = foldDoubles(se2), sums.sae = foldDoubles(sae);
    sums.sw2 = foldDoubles(sw2), sums.swv = foldDoubles(swv), sums.sv2 = foldDoubles(sv2);
    sums.maxAbs = largest(most);
    sums.clipped = count(clipped), sums.zeros = count(zeros), sums.signFlips = count(flips);
    out.sums->merge(sums);
}
