// SPDX-License-Identifier: GPL-3.0-or-later
// How the K formats find the scale of a sub-block. Each lane holds one sub-block; x[j] is its element j. Sums add the
// elements in order, so that each lane computes what the loops of ggml compute.

constexpr float kTooSmall = 1e-15f; ///< magnitudes below this count as 0

/// Finds the scale and minimum with the least weighted error. It tries steps + 1 divisions of the range of values; each
/// uses 0.1 more levels than the one before, and the first uses `from` more levels than `most`. Codes are 0 to `most`.
/// The minimum is at most 0 and is returned negated. `absolute`: the error is |e|, otherwise e^2.
template<int n, bool absolute> struct RangeFit {
    int most, steps;
    float from;

    QS_INLINE Floats errorOf(Floats decoded, Floats x) const {
        const Floats error = decoded - x;
        return absolute ? magnitude(error) : error * error;
    }
    inline void operator()(const Floats* x, const Floats* weights, Floats& scaleOut, Floats& minimumOut) const {
        Floats low = x[0], high = x[0], sumW = weights[0], sumX = sumW * x[0];
        for (int i = 1; i < n; ++i) {
            low = smaller(x[i], low), high = larger(x[i], high);
            sumW += weights[i];
            sumX += weights[i] * x[i];
        }
        low = low > 0.0f ? Floats{} : low;
        const Ints constant = high == low;
        const Floats only = low;
        Floats inverse = float(most) / (high - low), scale = 1.0f / inverse, best = {};
        for (int i = 0; i < n; ++i) {
            const Floats code = nearestWithin(inverse * (x[i] - low), 0, float(most));
            best += weights[i] * errorOf(scale * code + low, x[i]);
        }
        for (int step = 0; step <= steps; ++step) {
            inverse = (from + 0.1f * float(step) + float(most)) / (high - low);
            Floats codes[n], sumL = {}, sumL2 = {}, sumXl = {};
            for (int i = 0; i < n; ++i) {
                const Floats code = nearestWithin(inverse * (x[i] - low), 0, float(most));
                const Floats weighted = weights[i] * code;
                codes[i] = code;
                sumL += weighted, sumL2 += weighted * code, sumXl += weighted * x[i];
            }
            const Floats determinant = sumW * sumL2 - sumL * sumL;
            Floats newScale = (sumW * sumXl - sumX * sumL) / determinant;
            Floats newLow = (sumL2 * sumX - sumL * sumXl) / determinant;
            const Ints above = newLow > 0.0f;
            newLow = above ? Floats{} : newLow;
            newScale = above ? sumXl / sumL2 : newScale;
            Floats error = {};
            for (int i = 0; i < n; ++i) error += weights[i] * errorOf(newScale * codes[i] + newLow, x[i]);
            const Ints better = (determinant > 0.0f) & (error < best);
            best = better ? error : best, scale = better ? newScale : scale, low = better ? newLow : low;
        }
        scaleOut = constant ? Floats{} : scale;
        minimumOut = -(constant ? only : low);
    }
};

/// The first value of largest magnitude in each lane. `size` gets that magnitude.
template<int n> QS_INLINE Floats signedMax(const Floats* x, Floats& size) {
    Floats at = {};
    size = Floats{};
    for (int i = 0; i < n; ++i) {
        const Floats v = magnitude(x[i]);
        at = v > size ? x[i] : at;
        size = larger(v, size);
    }
    return at;
}

/// Finds the scale for codes from -most to most - 1 (q6_k). It tries 19 scales around the one that puts the largest
/// value on -most. The best one has the least error weighted by x^2.
template<int n> inline Floats fitSigned(const Floats* x, int most) {
    Floats size;
    const Floats at = signedMax<n>(x, size);
    Floats scale = {}, best = {};
    const int order[] = {0, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (const int move : order) {
        const Floats inverse = -(float(most) + 0.1f * float(move)) / at;
        Floats product = {}, square = {};
        for (int i = 0; i < n; ++i) {
            const Floats code = nearestWithin(inverse * x[i], float(-most), float(most - 1));
            const Floats weight = x[i] * x[i];
            product += weight * x[i] * code, square += weight * code * code;
        }
        const Ints first = Ints{} - int(move == 0), some = square > 0.0f;
        const Ints better = some & (first | (product * product > best * square));
        scale = better ? product / square : scale;
        best = better ? scale * product : best;
    }
    return size < kTooSmall ? Floats{} : scale;
}

/// Finds the scale for the same codes by another method (q3_k). It starts with the scale that puts the largest value on
/// -most. Then it changes one code at a time if that lowers the error weighted by x^2, in up to five rounds.
template<int n> inline Floats fitInTurn(const Floats* x, int most) {
    Floats size;
    const Floats at = signedMax<n>(x, size), inverse = float(-most) / at;
    Floats codes[n], product = {}, square = {};
    for (int i = 0; i < n; ++i) {
        const Floats weight = x[i] * x[i];
        codes[i] = nearestWithin(inverse * x[i], float(-most), float(most - 1));
        product += weight * x[i] * codes[i], square += weight * codes[i] * codes[i];
    }
    for (int round = 0; round < 5; ++round) {
        Ints changed = {};
        for (int i = 0; i < n; ++i) {
            const Floats weight = x[i] * x[i], code = codes[i];
            const Floats others = product - weight * x[i] * code, otherSquares = square - weight * code * code;
            const Floats moved = nearestWithin(x[i] * otherSquares / others, float(-most), float(most - 1));
            const Floats newProduct = others + weight * x[i] * moved, newSquare = otherSquares + weight * moved * moved;
            const Ints better = (others > 0.0f) & (moved != code) & (newSquare > 0.0f) &
                                (newProduct * newProduct * square > product * product * newSquare);
            codes[i] = better ? moved : code;
            product = better ? newProduct : product, square = better ? newSquare : square;
            changed |= better;
        }
        if (!any(changed)) break;
    }
    const Floats scale = square > 0.0f ? product / square : Floats{};
    return size < kTooSmall ? Floats{} : scale;
}
