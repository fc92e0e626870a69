// SPDX-License-Identifier: GPL-3.0-or-later
// Scales and sums of groups of 2, 4 and 8 finite elements, many groups per vector.

QS_INLINE bool isSmallPower(std::size_t group) { return group == 2 || group == 4 || group == 8; }

/// Computes the scales of all groups from their largest magnitudes; aux and scale get one entry per element. Returns
/// false if a scale is not usable, or if the encoder has another rule.
inline bool smallBounds(const Run& run, const float* x, std::size_t n, float* aux, float* scale) {
    const bool integers = run.encoder == Encoder::RoundInteger;
    if (!isSmallPower(run.group) || (!integers && run.encoder != Encoder::NearestNf4)) return false;
    const Floats clip = set1(run.clip), range = set1(run.levels[run.levelCount - 1]), least = set1(1.17549435e-38f);
    Floats high = set1(0.0f), low = set1(__builtin_inff());
    for (std::size_t i = 0; i < n; i += 16) {
        const Floats bound = largestOf(abs(n - i < 16 ? load(x + i, n - i) : load(x + i)), run.group) * clip;
        const Floats s = integers ? bound / range + least : bound, a = integers ? s : bound + least;
        store(scale + i, s);
        store(aux + i, a);
        high = max(high, max(abs(s), a)), low = min(low, a);
    }
    return reduceMin(low) > 0 && reduceMax(high) <= 3.402823466e38f;
}

/// TWN scales of pairs, see paramsFromTwn(). Uses factors instead of branches: whether a value is above the threshold
/// cannot be predicted.
inline bool twnOfPairs(const float* x, std::size_t pairs, float* aux, float* scale) {
    constexpr double kMean[] = {1, 1, 0.5};
    const Doubles half = toDoubles(set1(0.5f));
    Floats high = set1(0.0f);
    std::size_t i = 0;
    for (; i + 32 <= 2 * pairs; i += 32) {
        Floats a, b;
        deinterleave(x + i, a, b);
        a = abs(a), b = abs(b);
        const Floats threshold = set1(0.7f) * toFloats((toDoubles(a) + toDoubles(b)) * half);
        const Mask first = a > threshold, second = b > threshold;
        const Doubles sum = toDoubles(only(first, a)) + toDoubles(only(second, b));
        const Floats mean = toFloats(sum * toDoubles(select(first & second, set1(0.5f), set1(1.0f))));
        storeTwice(aux + i, threshold), storeTwice(scale + i, mean);
        high = max(high, mean);
    }
    float largest = reduceMax(high);
    for (; i < 2 * pairs; i += 2) {
        const float a = __builtin_fabsf(x[i]), b = __builtin_fabsf(x[i + 1]);
        const float threshold = 0.7f * float((double(a) + double(b)) * 0.5);
        const int first = a > threshold, second = b > threshold;
        const float mean = float((double(a) * first + double(b) * second) * kMean[first + second]);
        aux[i] = aux[i + 1] = threshold;
        scale[i] = scale[i + 1] = mean;
        largest = mean > largest ? mean : largest;
    }
    return largest <= 3.402823466e38f;
}

/// The sum of squares, folded in the order of sixteen lanes.
template<std::size_t kGroup> QS_INLINE float squaresOf(const float* p) {
    double d[kGroup];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kGroup; ++i) d[i] = double(p[i]) * double(p[i]);
#pragma GCC unroll 4
    for (std::size_t half = kGroup / 2; half > 0; half /= 2)
#pragma GCC unroll 4
        for (std::size_t j = 0; j < half; ++j) d[j] += d[j + half];
    return float(d[0]);
}

/// The results per group for `groups` whole groups, from group number `g` on.
template<std::size_t kGroup>
inline void smallFigures(const RunOut& out, const float* x, const float* errors, std::size_t groups, std::size_t g) {
    std::size_t k = 0;
    if constexpr (kGroup == 1) { // one scale per column
        const auto squares = [](const float* p) __attribute__((always_inline)) {
            const Doubles d = toDoubles(load(p));
            return toFloats(d * d);
        };
        for (; k + 16 <= groups; k += 16, x += 16, errors += 16) {
            if (out.groupAbsMax) store(out.groupAbsMax + g + k, abs(load(x)));
            if (out.groupSse) store(out.groupSse + g + k, squares(errors));
            if (out.groupSsw) store(out.groupSsw + g + k, squares(x));
        }
    }
    if constexpr (kGroup == 2) { // one lane per group
        const auto squares = [](const float* p) __attribute__((always_inline)) {
            Floats a, b;
            deinterleave(p, a, b);
            const Doubles c = toDoubles(a), d = toDoubles(b);
            return toFloats(c * c + d * d);
        };
        for (; k + 16 <= groups; k += 16, x += 32, errors += 32) {
            Floats a, b;
            deinterleave(x, a, b);
            if (out.groupAbsMax) store(out.groupAbsMax + g + k, max(abs(a), abs(b)));
            if (out.groupSse) store(out.groupSse + g + k, squares(errors));
            if (out.groupSsw) store(out.groupSsw + g + k, squares(x));
        }
    }
    for (; k < groups; ++k, x += kGroup, errors += kGroup) {
        if (out.groupAbsMax) {
            float bound = 0;
#pragma GCC unroll 8
            for (std::size_t i = 0; i < kGroup; ++i) {
                const float a = __builtin_fabsf(x[i]);
                bound = a > bound ? a : bound;
            }
            out.groupAbsMax[g + k] = bound;
        }
        if (out.groupSse) out.groupSse[g + k] = squaresOf<kGroup>(errors);
        if (out.groupSsw) out.groupSsw[g + k] = squaresOf<kGroup>(x);
    }
}
