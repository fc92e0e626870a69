// SPDX-License-Identifier: GPL-3.0-or-later
// One text over a 16-lane vector: scales and figures of groups of 2, 4 and 8 finite elements, many groups a vector.

QS_INLINE bool isSmallPower(std::size_t group) { return group == 2 || group == 4 || group == 8; }

/// Scales of all groups from their largest magnitudes, one per element. False: some are not usable, or their encoder
/// has another rule.
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

/// TWN of pairs: see paramsFromTwn(). By factors: which values lie beyond the threshold cannot be predicted.
inline bool twnOfPairs(const float* x, std::size_t pairs, float* aux, float* scale) {
    constexpr double kMean[] = {1, 1, 0.5};
    float largest = 0;
    for (std::size_t i = 0; i < 2 * pairs; i += 2) {
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

/// The sum of squares, folded as sixteen lanes are.
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

/// Of `groups` whole groups, the first number `g`.
template<std::size_t kGroup>
inline void smallFigures(const RunOut& out, const float* x, const float* errors, std::size_t groups, std::size_t g) {
    for (std::size_t k = 0; k < groups; ++k, x += kGroup, errors += kGroup) {
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
