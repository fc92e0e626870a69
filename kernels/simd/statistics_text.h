// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics and conversions, written for a 16-lane vector and compiled for each instruction set.

/// The bits of max |x|. They are at most 0x7f7fffff if all values are finite, and above 0x7f800000 if one is NaN.
inline unsigned absMaxBits(const float* x, std::size_t n) {
    const Ints magnitude = set1(0x7fffffff);
    Ints a = set1(0), b = a, c = a, d = a;
    std::size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        a = maxUnsigned(a, bitsOf(load(x + i)) & magnitude);
        b = maxUnsigned(b, bitsOf(load(x + i + 16)) & magnitude);
        c = maxUnsigned(c, bitsOf(load(x + i + 32)) & magnitude);
        d = maxUnsigned(d, bitsOf(load(x + i + 48)) & magnitude);
    }
    for (; i + 16 <= n; i += 16) a = maxUnsigned(a, bitsOf(load(x + i)) & magnitude);
    if (i < n) b = maxUnsigned(b, bitsOf(load(x + i, n - i)) & magnitude);
    return reduceMaxUnsigned(maxUnsigned(maxUnsigned(a, b), maxUnsigned(c, d)));
}
constexpr unsigned kInfinityBits = 0x7f800000u;
QS_INLINE float fromBits(unsigned bits) { return __builtin_bit_cast(float, bits); }

/// The same for consecutive groups. The last may be shorter.
inline void absMaxBitsOfEach(const float* x, std::size_t n, std::size_t group, unsigned* bits) {
    std::size_t begin = 0, g = 0;
    if (group % 16 == 0)
        for (; n - begin >= 16 * group; begin += 16 * group, g += 16) absMaxBitsOf16(x + begin, group, bits + g);
    for (; begin < n; begin += group, ++g) bits[g] = absMaxBits(x + begin, n - begin < group ? n - begin : group);
}

inline float absMax(const float* x, std::size_t n, bool finiteOnly) {
    const unsigned bits = absMaxBits(x, n);
    if (finiteOnly && bits >= kInfinityBits) return reference::absMax(x, n, true);
    return bits > kInfinityBits ? __builtin_nanf("") : fromBits(bits);
}

QS_INLINE Mask finiteLanes(Floats x) { return abs(x) < set1(__builtin_inff()); }

/// The lane-strided sum of term(x). Lanes that are left out add +0.
template<class Term>
QS_INLINE double laneSum(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count, Term term) {
    Doubles total = zeroDoubles();
    std::uint64_t counted = 0;
    const auto add = [&](Floats w, Mask active, bool all) __attribute__((always_inline)) {
        if (finiteOnly) {
            active = active & finiteLanes(w);
            all = false;
            counted += unsigned(__builtin_popcount(bits(active)));
        }
        const Floats value = term(w);
        total = total + toDoubles(all ? value : only(active, value));
    };
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) add(load(x + i), firstLanes(16), true);
    if (i < n) add(load(x + i, n - i), firstLanes(n - i), false);
    if (count) *count = finiteOnly ? counted : n;
    return fold(total);
}

inline double sumAbs(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count) {
    return laneSum(
        x, n, finiteOnly, count, [](Floats w) __attribute__((always_inline)) { return abs(w); });
}
inline double sum(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count) {
    return laneSum(
        x, n, finiteOnly, count, [](Floats w) __attribute__((always_inline)) { return w; });
}
inline double sumSquaredDeviation(const float* x, std::size_t n, float mean, bool finiteOnly) {
    const Floats center = set1(mean);
    return laneSum(
        x, n, finiteOnly, nullptr, [center](Floats w) __attribute__((always_inline)) {
            const Floats deviation = w - center;
            return deviation * deviation;
        });
}

/// Floats in a page of 4 KiB. One cache line of each page is prefetched long before the others. With small pages,
/// address translation takes longer than reading the rest of the lines, and the memory would be idle.
constexpr std::size_t kPage = 1024;

/// sumAbs() of finite values. Prefetches the first half of the next row.
inline double sumAbsOfRow(const float* row, std::size_t count, const float* next) {
    Doubles total = zeroDoubles();
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __builtin_prefetch(next + i / 2);
        total = total + toDoubles(abs(load(row + i)));
        total = total + toDoubles(abs(load(row + i + 16)));
    }
    for (; i < count; i += 16)
        total = total + toDoubles(abs(i + 16 <= count ? load(row + i) : load(row + i, count - i)));
    return fold(total);
}

inline AboveSum sumAbsAbove(const float* x, std::size_t n, float threshold) {
    Doubles total = zeroDoubles();
    AboveSum above;
    const Floats limit = set1(threshold), infinity = set1(__builtin_inff());
    const auto add = [&](Floats w) __attribute__((always_inline)) {
        const Floats a = abs(w);
        const Mask taken = (a > limit) & (a < infinity);
        above.count += unsigned(__builtin_popcount(bits(taken)));
        total = total + toDoubles(only(taken, a));
    };
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) add(load(x + i));
    if (i < n) {
        // The padding zeros would count as above a negative threshold.
        if (threshold < 0) return reference::sumAbsAbove(x, n, threshold);
        add(load(x + i, n - i));
    }
    above.sum = fold(total);
    return above;
}

inline Moments moments(const float* x, std::size_t n) {
    Moments m;
    Doubles s1 = zeroDoubles(), s2 = s1, s3 = s1, s4 = s1;
    const Floats infinity = set1(__builtin_inff());
    Floats low = infinity, high = set1(-__builtin_inff());
    std::uint64_t finite = 0;
    m.pivot = pivotOf(x, n);
    const Floats pivot = set1(m.pivot);
    const Doubles back = toDoubles(set1(-m.pivot));
    const auto add = [&](Floats w, Mask active) __attribute__((always_inline)) {
        const Floats a = abs(w);
        const Mask taken = active & (a < infinity), infinite = active & (a == infinity);
        const unsigned count = unsigned(__builtin_popcount(bits(taken)));
        finite += count;
        if (count < 16) {
            const unsigned inf = unsigned(__builtin_popcount(bits(infinite)));
            m.inf += inf;
            m.nan += unsigned(__builtin_popcount(bits(active))) - count - inf;
        }
        m.zeros += unsigned(__builtin_popcount(bits(taken & (w == set1(0.0f)))));
        low = min(low, select(taken, w, infinity));
        high = max(high, select(taken, w, set1(-__builtin_inff())));
        const Doubles d = toDoubles(select(taken, w, pivot)) + back, d2 = d * d;
        s1 = s1 + d;
        s2 = s2 + d2;
        s3 = s3 + d2 * d;
        s4 = s4 + d2 * d2;
    };
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) add(load(x + i), firstLanes(16));
    if (i < n) add(load(x + i, n - i), firstLanes(n - i));
    m.n = double(finite);
    m.s1 = fold(s1), m.s2 = fold(s2), m.s3 = fold(s3), m.s4 = fold(s4);
    if (finite) m.min = reduceMin(low) + 0.0f, m.max = reduceMax(high) + 0.0f; // adding +0 turns -0 into +0
    return m;
}

QS_INLINE void countBins(const std::uint16_t* index, std::size_t n, std::uint32_t* bins) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) { // one load each: extracting four from a register is slower
        ++bins[index[i]];
        ++bins[index[i + 1]];
        ++bins[index[i + 2]];
        ++bins[index[i + 3]];
    }
    for (; i < n; ++i) ++bins[index[i]];
}

inline void floatBins(const float* x, std::size_t n, std::uint32_t* bins) {
    constexpr std::size_t kPiece = 1024;
    alignas(64) std::uint16_t index[kPiece];
    for (std::size_t begin = 0; begin < n; begin += kPiece) {
        const std::size_t count = n - begin < kPiece ? n - begin : kPiece;
        if (absMaxBits(x + begin, count) >= kInfinityBits) {
            reference::floatBins(x + begin, count, bins);
            continue;
        }
        std::size_t i = 0;
        for (; i + 16 <= count; i += 16) storeBins(index + i, load(x + begin + i));
        if (i < count) storeBins(index + i, load(x + begin + i, count - i));
        countBins(index, count, bins);
    }
}

inline void columnAbsMax(const float* x, std::size_t n, float* into) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const Floats a = abs(load(x + i));
        store(into + i, max(load(into + i), only(a < set1(__builtin_inff()), a)));
    }
    reference::columnAbsMax(x + i, n - i, into + i);
}

inline void f16ToF32(const std::uint16_t* in, std::size_t n, float* out) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) store(out + i, widenF16(in + i));
    reference::f16ToF32(in + i, n - i, out + i);
}
inline void bf16ToF32(const std::uint16_t* in, std::size_t n, float* out) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) store(out + i, widenBf16(in + i));
    reference::bf16ToF32(in + i, n - i, out + i);
}
inline void f32ToF16(const float* in, std::size_t n, std::uint16_t* out) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) narrowF16(out + i, load(in + i));
    reference::f32ToF16(in + i, n - i, out + i);
}
inline void f32ToBf16(const float* in, std::size_t n, std::uint16_t* out) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) narrowBf16(out + i, load(in + i));
    reference::f32ToBf16(in + i, n - i, out + i);
}
