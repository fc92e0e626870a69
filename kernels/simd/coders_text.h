// SPDX-License-Identifier: GPL-3.0-or-later
// Coders, written for a 16-lane vector. A coder turns 16 finite values into codes and decoded values. It also returns v
// = x / aux if it computes that.

/// The parameters of a group, in every lane or one per lane.
struct LaneParams {
    Floats aux, scale;
};
QS_INLINE LaneParams laneParams(const GroupParams& params) { return {set1(params.aux), set1(params.scale)}; }

/// Encoder::NearestNf4 by the bucket table of Nf4Thresholds.
struct Nf4Coder {
    QS_INLINE static LaneParams forGroup(const GroupParams& p) { return laneParams(p); }
    static constexpr bool kHasQuotient = true, kHasCodes = true;
    Floats thresholds[2], levels;
    Ints codes[2];
    explicit Nf4Coder(const Run& run) {
        const Nf4Thresholds& t = nf4Thresholds();
        for (int half = 0; half < 2; ++half) {
            thresholds[half] = load(t.bucketThreshold + 16 * half);
            codes[half] = loadInts(t.bucketCode + 16 * half);
        }
        levels = load(run.levels);
    }
    /// Whether no value is decoded to a value of the other sign, for every positive scale.
    static bool keepsSigns(const Run& run) {
        bool keeps = run.levels[7] == 0;
        for (int k = 0; k < 7; ++k) keeps = keeps && run.levels[k] <= 0 && run.levels[15 - k] >= 0;
        return keeps && run.levels[8] >= 0;
    }
    QS_INLINE Ints encode(Floats x, const LaneParams& params, Floats& v) const {
        v = x / params.aux;
        const Floats one = set1(1.0f);
        const Floats within = max(min(v, one), set1(-1.0f));
        const Ints bucket = bitsOf(fma(within, set1(Nf4Thresholds::kBucketScale), set1(Nf4Thresholds::kBucketOffset)));
        return plusOneWhere(within >= lookup32(thresholds[0], thresholds[1], bucket),
                            lookup32(codes[0], codes[1], bucket));
    }
    QS_INLINE Floats decode(Ints code, Floats, const LaneParams& params) const {
        return lookup16(levels, code) * params.scale;
    }
};

/// Encoder::NearestLevel: counts the ascending boundaries below x / aux by binary search. Up to 32 levels stay in
/// registers. With more levels, the last steps read memory. `steps` is log2 of the number of levels, rounded up.
/// Missing boundaries are infinite.
template<int steps> struct LevelCoder {
    QS_INLINE static LaneParams forGroup(const GroupParams& p) { return laneParams(p); }
    static constexpr bool kHasQuotient = true, kHasCodes = true;
    static constexpr int kInRegisters = steps < 5 ? steps : 5, kStride = 1 << (steps - kInRegisters);
    Floats bounds[2], levels[2];
    alignas(64) float boundTable[kStride > 1 ? 256 : 1], levelTable[kStride > 1 ? 256 : 1];
    explicit LevelCoder(const Run& run) {
        alignas(64) float coarse[32], few[32];
        const auto boundary = [&run](int i) { return i < run.levelCount - 1 ? run.boundaries[i] : __builtin_inff(); };
        const auto level = [&run](int i) { return run.levels[i < run.levelCount ? i : run.levelCount - 1]; };
        for (int i = 0; i < 32; ++i) coarse[i] = boundary((i + 1) * kStride - 1), few[i] = level(i);
        for (int half = 0; half < 2; ++half)
            bounds[half] = load(coarse + 16 * half), levels[half] = load(few + 16 * half);
        if constexpr (kStride > 1)
            for (int i = 0; i < 256; ++i) boundTable[i] = boundary(i), levelTable[i] = level(i);
    }
    static bool keepsSigns(const Run& run) {
        bool keeps = true;
        for (int k = 0; k < run.levelCount; ++k) {
            if (run.levels[k] < 0) keeps = keeps && k + 1 < run.levelCount && run.boundaries[k] < 0;
            if (run.levels[k] > 0) keeps = keeps && k > 0 && run.boundaries[k - 1] >= 0;
        }
        return keeps;
    }
    QS_INLINE Floats few(const Floats (&table)[2], Ints index) const {
        if constexpr (steps <= 4) return lookup16(table[0], index);
        return lookup32(table[0], table[1], index);
    }
    QS_INLINE Ints encode(Floats x, const LaneParams& params, Floats& v) const {
        v = x / params.aux;
        Ints code = set1(0);
#pragma GCC unroll 8
        for (int step = kInRegisters - 1; step >= 0; --step) {
            const Ints half = set1(1 << step);
            code = select(v > few(bounds, code + set1((1 << step) - 1)), code + half, code);
        }
        if constexpr (kStride > 1) {
            code = shiftLeft(code, steps - kInRegisters);
#pragma GCC unroll 8
            for (int step = steps - kInRegisters - 1; step >= 0; --step) {
                const Ints half = set1(1 << step);
                code = select(v > gather(boundTable, code + set1((1 << step) - 1)), code + half, code);
            }
        }
        return code;
    }
    QS_INLINE Floats decode(Ints code, Floats, const LaneParams& params) const {
        if constexpr (kStride > 1) return gather(levelTable, code) * params.scale;
        return few(levels, code) * params.scale;
    }
};

/// round(x / aux), or round(x * aux) if kReciprocal, limited to the integers from -zero to high. The levels are those
/// integers.
template<bool kReciprocal> struct RoundCoder {
    QS_INLINE static LaneParams forGroup(const GroupParams& p) { return laneParams(p); }
    static constexpr bool kHasQuotient = true, kHasCodes = true;
    Floats high, low;
    Ints zero, minusZero;
    RoundCoder(int zeroCode, int levels)
        : high(set1(float(levels - 1 - zeroCode))), low(set1(float(-zeroCode))), zero(set1(zeroCode)),
          minusZero(set1(-zeroCode)) {}
    static bool keepsSigns(const Run&) { return true; }
    QS_INLINE Ints encode(Floats x, const LaneParams& params, Floats& v) const {
        if constexpr (kReciprocal)
            v = x * params.aux;
        else
            v = x / params.aux;
        return toInts(max(min(v, high), low)) + zero;
    }
    QS_INLINE Floats decode(Ints code, Floats, const LaneParams& params) const {
        return toFloats(code + minusZero) * params.scale; // converted from the integer, so -0 becomes +0
    }
};

/// Encoder::RoundFloat: x / aux rounded to a small float, saturating. Normal results: the f32 mantissa is rounded with
/// integer arithmetic. Subnormal results: a float is added whose last bit is the subnormal step.
struct FloatCoder {
    QS_INLINE static LaneParams forGroup(const GroupParams& p) { return laneParams(p); }
    static constexpr bool kHasQuotient = true, kHasCodes = true;
    Floats most, leastNormal, step, stepSum;
    Ints half, exponents, zero, minusZero, units, normalBits;
    int dropped; ///< mantissa bits of f32 that the small float does not have
    explicit FloatCoder(const Run& run) {
        const int m = run.shape.mantissa;
        const float unit = floatMagnitude(run.shape, 1);
        dropped = 23 - m;
        most = set1(run.levels[run.levelCount - 1]);
        leastNormal = set1(floatMagnitude(run.shape, 1u << m));
        step = set1(unit), stepSum = set1(unit * 8388608.0f);
        half = set1((1 << (dropped - 1)) - 1);
        exponents = set1((127 - run.shape.bias) << m);
        normalBits = set1((127 - run.shape.bias) << 23);
        units = set1(1 << m);
        zero = set1(run.zeroCode), minusZero = set1(run.shape.minusZero ? -1 : 0);
    }
    static bool keepsSigns(const Run&) { return true; }
    QS_INLINE Ints encode(Floats x, const LaneParams& params, Floats& v) const {
        v = x / params.aux;
        const Floats within = min(abs(v), most);
        const Ints bits = bitsOf(within);
        const Ints normal = shiftRight(bits + half + (shiftRight(bits, dropped) & set1(1)), dropped) - exponents;
        const Ints subnormal = bitsOf(within + stepSum) - bitsOf(stepSum);
        const Ints magnitude = select(within < leastNormal, subnormal, normal);
        const Ints sign = signOf(bitsOf(v)); // ~m is -m - 1: the code below the code of -m
        return zero + (magnitude ^ sign) - andNot(minusZero, sign);
    }
    QS_INLINE Floats decode(Ints code, Floats, const LaneParams& params) const {
        const Ints place = code - zero, sign = signOf(place);
        const Ints magnitude = (place ^ sign) - andNot(minusZero, sign);
        const Floats subnormal = toFloats(magnitude) * step;
        const Floats normal = asFloats(shiftLeft(magnitude, dropped) + normalBits);
        const Floats value = select(greater(units, magnitude), subnormal, normal);
        return asFloats(bitsOf(value) ^ shiftLeft(sign, 31)) * params.scale;
    }
};

/// Encoder::Sign: two levels, chosen by x < 0.
struct SignCoder {
    QS_INLINE static LaneParams forGroup(const GroupParams& p) { return laneParams(p); }
    static constexpr bool kHasQuotient = false, kHasCodes = true;
    Floats minus, plus;
    explicit SignCoder(const Run& run) : minus(set1(run.levels[0])), plus(set1(run.levels[1])) {}
    static bool keepsSigns(const Run& run) { return run.levels[0] <= 0 && run.levels[1] >= 0; }
    QS_INLINE Ints encode(Floats x, const LaneParams&, Floats&) const { return minusOneWhere(x < set1(0.0f), set1(1)); }
    QS_INLINE Floats decode(Ints, Floats x, const LaneParams& params) const {
        return select(x < set1(0.0f), minus, plus) * params.scale;
    }
};

/// Encoder::Threshold: three levels, chosen by x < -aux and x > aux.
struct ThresholdCoder {
    QS_INLINE static LaneParams forGroup(const GroupParams& p) { return laneParams(p); }
    static constexpr bool kHasQuotient = false, kHasCodes = true;
    Floats minus, zero, plus;
    explicit ThresholdCoder(const Run& run)
        : minus(set1(run.levels[0])), zero(set1(run.levels[1])), plus(set1(run.levels[2])) {}
    static bool keepsSigns(const Run& run) { return run.levels[0] <= 0 && run.levels[1] == 0 && run.levels[2] >= 0; }
    QS_INLINE Ints encode(Floats x, const LaneParams& params, Floats&) const {
        const Floats below = set1(0.0f) - params.aux;
        return minusOneWhere(x < below, plusOneWhere(x > params.aux, set1(1)));
    }
    QS_INLINE Floats decode(Ints, Floats x, const LaneParams& params) const {
        const Floats below = set1(0.0f) - params.aux;
        return select(x < below, minus, select(x > params.aux, plus, zero)) * params.scale;
    }
};

/// Encoders without codes: the value itself, or rounded to f16 or bf16.
enum class Small { None, F16, Bf16 };
template<Small kind> struct IdentityCoder {
    static constexpr bool kHasQuotient = false, kHasCodes = false;
    QS_INLINE Ints encode(Floats, const LaneParams&, Floats&) const { return set1(0); }
    QS_INLINE Floats decode(Ints, Floats x, const LaneParams&) const {
        if constexpr (kind == Small::F16) return throughF16(x);
        if constexpr (kind == Small::Bf16) return throughBf16(x);
        return x;
    }
};

/// Calls `call` with the coder, or with a faster one if the instruction set has one that fits all these groups.
template<class Coder, class Call>
QS_INLINE void withFastest(const Coder& coder, const GroupParams*, const unsigned*, std::size_t, const Call& call) {
    call(coder);
}
