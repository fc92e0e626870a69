// SPDX-License-Identifier: GPL-3.0-or-later
// The functions of RowMath in vector types of the compiler; one vector is one register of QS_LANES f32 or half as many
// f64. Include it between QS_TARGET_BEGIN and QS_TARGET_END.

constexpr std::size_t kWide = QS_LANES, kHalf = QS_LANES / 2;
using Floats = float __attribute__((vector_size(4 * QS_LANES)));
using Ints = std::int32_t __attribute__((vector_size(4 * QS_LANES)));
using Fewer = float __attribute__((vector_size(2 * QS_LANES)));
using Doubles = double __attribute__((vector_size(4 * QS_LANES)));
using Longs = std::int64_t __attribute__((vector_size(4 * QS_LANES)));

QS_INLINE Floats load(const float* at) {
    Floats v;
    std::memcpy(&v, at, sizeof v);
    return v;
}
QS_INLINE void store(float* at, Floats v) { std::memcpy(at, &v, sizeof v); }
QS_INLINE Doubles loadDoubles(const float* at) {
    Fewer v;
    std::memcpy(&v, at, sizeof v);
    return __builtin_convertvector(v, Doubles);
}
QS_INLINE Floats all(float value) { return value - Floats{}; }
QS_INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }
QS_INLINE Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
QS_INLINE Floats magnitude(Floats v) { return (Floats)((Ints)v & 0x7fffffff); }

constexpr float kLowest = -87.33654f, kHighest = 88.72283f; // beyond them exp(x) is 0 or +Inf

/// exp(x) = 2^n exp(r), |r| <= ln 2 / 2; the polynomial is Cephes' expf. `x`: between both limits, or NaN.
struct Exponential {
    Floats part; ///< exp(r)
    Ints power;  ///< n
};
QS_INLINE Exponential exponentialOf(Floats x) {
    constexpr float kToInteger = 12582912.0f; // 1.5 * 2^23
    const Floats shifted = x * 1.44269504088896341f + kToInteger;
    const Floats n = shifted - kToInteger;
    const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return {p * (r * r) + r + 1.0f, (Ints)shifted - 0x4b400000};
}
QS_INLINE Floats powerOfTwo(Ints n) { return (Floats)((n << 23) + 0x3f800000); } ///< -127 < n < 128

QS_INLINE Floats expOf(Floats x) {
    // The order of operands keeps NaN.
    const Exponential e = exponentialOf(smaller(all(kHighest), larger(all(kLowest), x)));
    const Ints half = e.power >> 1; // in two steps, because 2^128 is no float
    Floats y = e.part * powerOfTwo(half) * powerOfTwo(e.power - half);
    y = x < kLowest ? Floats{} : y;
    return x > kHighest ? all(std::numeric_limits<float>::infinity()) : y;
}

/// The same of x <= 0.
QS_INLINE Floats expOfNegative(Floats x) {
    const Exponential e = exponentialOf(larger(all(kLowest), x));
    const Floats y = e.part * powerOfTwo(e.power);
    return x < kLowest ? Floats{} : y;
}

/// Below 0.625 an odd polynomial (Cephes' tanhf), else 1 - 2 / (exp(2 |x|) + 1) with the sign of x.
QS_INLINE Floats tanhOf(Floats x) {
    const Floats size = magnitude(x), square = x * x;
    Floats p = square * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * square - 5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square - 3.33332819422e-1f;
    const Floats low = p * square * x + x;
    const Floats high = 1.0f - 2.0f / (expOf(size + size) + 1.0f);
    const Floats signedHigh = (Floats)((Ints)high | ((Ints)x & (std::int32_t)0x80000000));
    return size < 0.625f ? low : signedHigh;
}

/// exp(x) of x <= 0 in f64: 2^n exp(r), |r| <= ln 2 / 2, the Taylor series to r^13.
QS_INLINE Doubles expOf(Doubles x) {
    constexpr double kLowest = -700, kToInteger = 6755399441055744.0; // 1.5 * 2^52
    const Doubles low = kLowest - Doubles{};
    const Doubles inside = x > low ? x : low;
    const Doubles shifted = inside * 1.4426950408889634074 + kToInteger;
    const Doubles n = shifted - kToInteger;
    const Doubles r = (inside - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
    Doubles p = r * (1.0 / 6227020800) + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * (r * r) + r + 1.0;
    const Doubles y = p * (Doubles)(((Longs)shifted << 52) + 0x3ff0000000000000);
    return x < low ? Doubles{} : y;
}

/// Calls step(i) for whole vectors of n values, and at the end with copies of the last values, so that every value goes
/// through the same arithmetic. `step(in, out)` gets pointers to kWide values.
template<class Step> QS_INLINE void eachVector(const float* x, std::size_t n, float* y, const Step& step) {
    std::size_t i = 0;
    for (; i + kWide <= n; i += kWide) store(y + i, step(load(x + i), i));
    if (i == n) return;
    float last[kWide] = {};
    std::memcpy(last, x + i, (n - i) * sizeof(float));
    store(last, step(load(last), i));
    std::memcpy(y + i, last, (n - i) * sizeof(float));
}
/// kWide values from index i on, of which those from n on are 0; null: all 1.
QS_INLINE Floats valuesAt(const float* from, std::size_t i, std::size_t n) {
    if (!from) return all(1.0f);
    if (i + kWide <= n) return load(from + i);
    float last[kWide] = {};
    std::memcpy(last, from + i, (n - i) * sizeof(float));
    return load(last);
}

void exps(const float* x, std::size_t n, float* y) {
    eachVector(
        x, n, y, [](Floats v, std::size_t) __attribute__((always_inline)) { return expOf(v); });
}

void capped(const float* x, std::size_t n, float cap, float* y) {
    eachVector(
        x, n, y, [=](Floats v, std::size_t) __attribute__((always_inline)) { return tanhOf(v / cap) * cap; });
}

void silu(const float* x, const float* factor, std::size_t n, float* y) {
    eachVector(
        x, n, y, [=](Floats v, std::size_t i) __attribute__((always_inline)) {
            return v / (1.0f + expOf(-v)) * valuesAt(factor, i, n);
        });
}

void geluTanh(const float* x, const float* factor, std::size_t n, float* y) {
    constexpr float kScale = 0.7978845608028654f; // sqrt(2 / pi)
    eachVector(
        x, n, y, [=](Floats v, std::size_t i) __attribute__((always_inline)) {
            return 0.5f * v * (1.0f + tanhOf(kScale * (v + 0.044715f * v * v * v))) * valuesAt(factor, i, n);
        });
}

void softmaxColumns(float* x, std::size_t rows, std::size_t width, float scale, float cap, float* inverse) {
    if (cap > 0) {
        for (std::size_t i = 0; i < rows * width; i += kWide) {
            const Floats v = load(x + i) * scale;
            store(x + i, v < -std::numeric_limits<float>::max() ? v : tanhOf(v / cap) * cap);
        }
        scale = 1;
    }
    for (std::size_t lane = 0; lane < width; lane += kWide) {
        Floats most = all(-std::numeric_limits<float>::infinity());
        for (std::size_t r = 0; r < rows; ++r) most = larger(load(x + r * width + lane) * scale, most);
        Floats sum = {};
        for (std::size_t r = 0; r < rows; ++r) {
            const Floats v = expOfNegative(load(x + r * width + lane) * scale - most);
            store(x + r * width + lane, v);
            sum += v;
        }
        store(inverse + lane, 1.0f / sum);
    }
}

void normed(const float* x, std::size_t n, float mean, float inverse, const float* factor, float one, const float* bias,
            float* y) {
    if (bias)
        return eachVector(
            x, n, y, [=](Floats v, std::size_t i) __attribute__((always_inline)) {
                return (v - mean) * inverse * (valuesAt(factor, i, n) + one) + valuesAt(bias, i, n);
            });
    eachVector(
        x, n, y, [=](Floats v, std::size_t i) __attribute__((always_inline)) {
            return (v - mean) * inverse * (valuesAt(factor, i, n) + one);
        });
}

void plus(const float* x, std::size_t n, float* y) {
    eachVector(
        y, n, y, [=](Floats v, std::size_t i) __attribute__((always_inline)) { return v + valuesAt(x, i, n); });
}

/// Sixteen f64 sums; value i goes to lane i % 16.
struct Sums {
    Doubles part[16 / kHalf] = {};
    QS_INLINE double total() const {
        double a[16];
        std::memcpy(a, part, sizeof a);
        for (int half = 8; half > 0; half /= 2)
            for (int j = 0; j < half; ++j) a[j] += a[j + half];
        return a[0];
    }
};
/// The sum of term(values, i) over n values, kHalf of them at a time.
template<class Term> QS_INLINE double sumOf(const float* x, const float* y, std::size_t n, const Term& term) {
    Sums sums;
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (std::size_t p = 0; p < 16 / kHalf; ++p)
            sums.part[p] += term(loadDoubles(x + i + p * kHalf), loadDoubles(y + i + p * kHalf));
    if (i < n) {
        float lastX[16], lastY[16];
        for (std::size_t j = 0; j < 16; ++j) lastX[j] = x[i], lastY[j] = y[i];
        std::memcpy(lastX, x + i, (n - i) * sizeof(float)), std::memcpy(lastY, y + i, (n - i) * sizeof(float));
        for (std::size_t p = 0; p < 16 / kHalf; ++p) {
            Doubles terms = term(loadDoubles(lastX + p * kHalf), loadDoubles(lastY + p * kHalf));
            for (std::size_t lane = 0; lane < kHalf; ++lane)
                if (i + p * kHalf + lane >= n) terms[lane] = 0;
            sums.part[p] += terms;
        }
    }
    return sums.total();
}

double sum(const float* x, std::size_t n) {
    return sumOf(
        x, x, n, [](Doubles a, Doubles) __attribute__((always_inline)) { return a; });
}

double squares(const float* x, std::size_t n, double mean) {
    return sumOf(
        x, x, n, [=](Doubles a, Doubles) __attribute__((always_inline)) { return (a - mean) * (a - mean); });
}

double sumOfExps(const float* x, std::size_t n, double shift) {
    return sumOf(
        x, x, n, [=](Doubles a, Doubles) __attribute__((always_inline)) { return expOf(a - shift); });
}

double divergence(const float* a, double lnA, const float* b, double lnB, std::size_t n) {
    return sumOf(
        a, b, n, [=](Doubles p, Doubles q) __attribute__((always_inline)) {
            const Doubles lnP = p - lnA;
            const Doubles term = expOf(lnP) * (lnP - (q - lnB));
            return lnP < -700.0 ? Doubles{} : term; // a probability of 0, also of a logit of -Inf
        });
}

float largest(const float* x, std::size_t n) {
    Floats most = all(x[0]), wrong = {};
    std::size_t i = 0;
    for (; i + kWide <= n; i += kWide) {
        const Floats v = load(x + i);
        most = larger(v, most), wrong += v < -std::numeric_limits<float>::max() ? Floats{} : v - v; // Inf - Inf: NaN
    }
    float out = x[0], bad = 0;
    for (std::size_t lane = 0; lane < kWide; ++lane) out = most[lane] > out ? most[lane] : out, bad += wrong[lane];
    for (; i < n; ++i)
        out = x[i] > out ? x[i] : out, bad += x[i] < -std::numeric_limits<float>::max() ? 0.0f : x[i] - x[i];
    return bad == 0 ? out : std::numeric_limits<float>::quiet_NaN();
}

constexpr RowMath setOf(const char* id) {
    return {id,   exps, capped,  silu,    geluTanh,  softmaxColumns, normed,
            plus, sum,  squares, largest, sumOfExps, divergence};
}
