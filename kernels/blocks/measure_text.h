// SPDX-License-Identifier: GPL-3.0-or-later
// Measures values that a codec decoded. Sums are f64 over 8 lanes.

using Doubles = double __attribute__((vector_size(64)));
using Eight = float __attribute__((vector_size(32)));
using EightInts = std::int32_t __attribute__((vector_size(32)));
using EightCodes = std::uint8_t __attribute__((vector_size(8)));

template<class Vector> QS_INLINE Vector loadAs(const void* at) {
    Vector v;
    std::memcpy(&v, at, sizeof v);
    return v;
}
QS_INLINE Doubles wide(Eight v) { return __builtin_convertvector(v, Doubles); }
QS_INLINE double foldDoubles(Doubles v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }
QS_INLINE float foldLargest(Eight v) {
    float most = 0;
    for (int i = 0; i < 8; ++i) most = v[i] > most ? v[i] : most;
    return most;
}
/// The number of set lanes of a mask or a sum of masks; a set lane is -1.
QS_INLINE std::uint64_t count(EightInts minusOnes) {
    std::int64_t sum = 0;
    for (int i = 0; i < 8; ++i) sum -= minusOnes[i];
    return std::uint64_t(sum);
}
QS_INLINE Eight where(EightInts mask, Eight v) { return (Eight)((EightInts)v & mask); }
QS_INLINE Eight magnitudes(Eight v) { return (Eight)((EightInts)v & 0x7fffffff); }

using ManyCodes = std::uint8_t __attribute__((vector_size(4 * QS_LANES)));

/// Counts n codes, all below `levels`. One comparison per level, which is fast if the levels are few. n is a multiple
/// of 16.
inline void countFew(const std::uint8_t* codes, std::size_t n, std::uint64_t* counts, int levels) {
    constexpr std::uint64_t kPairs = 0x00ff00ff00ff00ff;
    for (std::size_t begin = 0; begin < n; begin += 128 * sizeof(ManyCodes)) {
        const std::size_t end = std::min(n, begin + 128 * sizeof(ManyCodes)),
                          whole = end - (end - begin) % sizeof(ManyCodes);
        for (int level = 0; level < levels; ++level) {
            const auto wanted = std::uint8_t(level);
            ManyCodes found = {};
            for (std::size_t i = begin; i < whole; i += sizeof found)
                found -= (ManyCodes)(loadAs<ManyCodes>(codes + i) == wanted);
            std::uint64_t words[sizeof found / 8], sum = 0;
            std::memcpy(words, &found, sizeof found);
            for (const std::uint64_t word : words) sum += (word & kPairs) + (word >> 8 & kPairs);
            counts[level] += (sum * 0x0001000100010001u) >> 48;
        }
        for (std::size_t i = whole; i < end; ++i) ++counts[codes[i]];
    }
}

/// Counts the codes of values whose error is not NaN. Four tables, so that equal neighbours do not wait for each other.
inline void countCodes(const BlockValues& values, const float* errors, bool all, std::uint64_t* counts) {
    if (all && values.levelCount <= 32) return countFew(values.codes, values.n, counts, values.levelCount);
    std::uint32_t tables[4][256] = {};
    for (std::size_t i = 0; i < values.n; ++i) tables[i % 4][values.codes[i]] += all || errors[i] == errors[i];
    for (int code = 0; code < values.levelCount; ++code)
        for (const auto& table : tables) counts[code] += table[code];
}

inline void measure(const BlockValues& values, const RunOut& out, float* errors, float* places) {
    const bool placed = values.codes && places;
    // Most formats have consecutive integers as levels, so no table lookup is needed.
    const bool integers =
        placed && values.levels[values.levelCount - 1] - values.levels[0] == float(values.levelCount - 1);
    if (placed && !integers)
        for (std::size_t i = 0; i < values.n; ++i) places[i] = values.levels[values.codes[i]];
    const float first = placed ? values.levels[0] : 0;
    const float low = placed ? values.levels[0] * 1.000001f : 0;
    const float high = placed ? values.levels[values.levelCount - 1] * 1.000001f : 0;
    const Eight nan = std::numeric_limits<float>::quiet_NaN() - Eight{};
    Doubles se = {}, se2 = {}, sae = {}, sw2 = {}, swv = {}, sv2 = {};
    EightInts finites = {}, clipped = {}, zeros = {}, flips = {};
    Eight most = {};
    for (std::size_t begin = 0, group = 0; begin < values.n; begin += values.group, ++group) {
        Doubles groupSe2 = {}, groupSw2 = {};
        Eight groupMost = {};
        const float scale = values.scales[group];
        // The reciprocal of a scale near 0 would be infinite, so such a scale is multiplied by 2^64 first.
        const float lift = scale > -0x1p-100f && scale < 0x1p-100f ? 0x1p64f : 1.0f;
        const float inverse = scale != 0 ? 1 / (scale * lift) : 0.0f;
        for (std::size_t i = begin; i < begin + values.group; i += 8) {
            const Eight x = loadAs<Eight>(values.x + i), decoded = loadAs<Eight>(values.decoded + i);
            const EightInts finite = magnitudes(x) <= std::numeric_limits<float>::max();
            const Eight w = where(finite, x), v = where(finite, decoded), e = v - w, size = magnitudes(e);
            const Doubles wd = wide(w), vd = wide(v), ed = wide(e);
            se += ed, sae += wide(size);
            groupSe2 += ed * ed, groupSw2 += wd * wd;
            swv += wd * vd, sv2 += vd * vd;
            most = size > most ? size : most;
            const Eight wSize = magnitudes(w);
            groupMost = wSize > groupMost ? wSize : groupMost;
            finites += finite;
            zeros += (v == 0.0f) & finite;
            flips += ((w < 0.0f) & (v > 0.0f)) | ((w > 0.0f) & (v < 0.0f));
            const Eight error = finite ? e : nan;
            std::memcpy(errors + i, &error, sizeof error);
            if (!placed) continue;
            const Eight level = integers ? __builtin_convertvector(loadAs<EightCodes>(values.codes + i), Eight) + first
                                         : loadAs<Eight>(places + i);
            Eight place = scale != 0 ? level - e * lift * inverse : Eight{};
            clipped += scale != 0 ? ((place < low) | (place > high)) & finite : e != 0.0f;
            place = finite ? place : nan;
            std::memcpy(places + i, &place, sizeof place);
        }
        se2 += groupSe2, sw2 += groupSw2;
        if (out.groupSse) out.groupSse[group] = float(foldDoubles(groupSe2));
        if (out.groupSsw) out.groupSsw[group] = float(foldDoubles(groupSw2));
        if (out.groupAbsMax) out.groupAbsMax[group] = foldLargest(groupMost);
    }
    if (out.codeCounts && values.codes) countCodes(values, errors, count(finites) == values.n, out.codeCounts);
    if (!out.sums) return;
    ErrorSums sums;
    sums.n = double(count(finites));
    sums.se = foldDoubles(se), sums.se2 = foldDoubles(se2), sums.sae = foldDoubles(sae);
    sums.sw2 = foldDoubles(sw2), sums.swv = foldDoubles(swv), sums.sv2 = foldDoubles(sv2);
    sums.maxAbs = foldLargest(most);
    sums.clipped = count(clipped), sums.zeros = count(zeros), sums.signFlips = count(flips);
    out.sums->merge(sums);
}
