// SPDX-License-Identifier: GPL-3.0-or-later
// Quantizes and measures in one pass. Groups of 16 or more elements are handled one by one with the scale in a
// register. Smaller groups are handled in pieces with one scale per lane. Groups with NaN or Inf go to the reference.

#include "kernels/simd/pass_text.h"

QS_INLINE unsigned count(Mask m) { return unsigned(__builtin_popcount(bits(m))); }

struct Whole {
    static constexpr bool kTail = false;
};
struct Tail {
    static constexpr bool kTail = true;
};

/// Handles up to kPiece - fill finite elements from `begin` on. They share one scale, or with kPerLane have aux[i] and
/// scale[i].
template<bool kPerLane, class Coder>
inline void span(const Coder& coder, Pass& pass, std::size_t begin, std::size_t n, const float* aux, const float* scale,
                 ValueSource source, float* errors) {
    const Run& run = pass.run;
    const RunOut& out = pass.out;
    const float* x = run.x + begin;
    const bool sums = pass.sums, wantCodes = Coder::kHasCodes && (out.codes || out.codeCounts);
    constexpr float kWider = 1.000001f;
    const bool f16 = run.encoder == Encoder::RoundF16, levels = run.levelCount > 0;
    const Floats infinity = set1(__builtin_inff());
    const Floats lowest = set1(levels ? run.levels[0] : 0.0f),
                 highest = set1(levels ? run.levels[run.levelCount - 1] : 0.0f);
    LaneParams params{set1(aux[0]), set1(scale[0])};
    Floats high = infinity, low = set1(0.0f) - infinity;
    const auto setLimits = [&]() __attribute__((always_inline)) {
        if (f16)
            low = set1(-65504.0f * kWider), high = set1(65504.0f * kWider);
        else if (levels)
            low = lowest * params.scale * set1(kWider), high = highest * params.scale * set1(kWider);
    };
    setLimits();
    const Doubles zero = zeroDoubles();
    Doubles se = zero, sae = zero, swv = zero, sv2 = zero;
    Doubles se2 = pass.group.se2, sw2 = pass.group.sw2;
    Floats maxAbs = pass.totals.maxAbs;
    std::uint64_t clipped = 0, zeros = 0, flips = 0;

    const auto step = [&](std::size_t i, std::size_t lanes, auto tag) __attribute__((always_inline)) {
        constexpr bool kTail = decltype(tag)::kTail;
        const Floats w = kTail ? load(x + i, lanes) : load(x + i);
        if constexpr (kPerLane) {
            params = {kTail ? load(aux + i, lanes) : load(aux + i), kTail ? load(scale + i, lanes) : load(scale + i)};
            setLimits();
        }
        const std::size_t at = pass.fill + i;
        Floats quotient = w;
        const Ints code = coder.encode(w, params, quotient);
        if (wantCodes) {
            if (out.codes)
                kTail ? storeBytes(out.codes + begin + i, lanes, code) : storeBytes(out.codes + begin + i, code);
            storeBytes(pass.codes + at, code);
        }
        Floats v = coder.decode(code, w, params);
        if (out.decoded) kTail ? store(out.decoded + begin + i, lanes, v) : store(out.decoded + begin + i, v);
        if (source != ValueSource::None) {
            Floats value = quotient;
            if (source == ValueSource::Itself) value = w;
            if (source == ValueSource::Divide) {
                value = w / params.scale;
                if constexpr (kPerLane) value = select(params.scale == set1(0.0f), set1(0.0f), value);
            }
            if (source == ValueSource::Zero) value = set1(0.0f);
            storeBins(pass.valueBins + at, value);
        }
        if constexpr (kTail) v = only(firstLanes(lanes), v); // w is +0 there, so all terms are +0
        const Floats e = v - w;
        if (out.errorBins) storeBins(pass.errorBins + at, e);
        if constexpr (kPerLane) {
            if (errors) kTail ? store(errors + i, lanes, e) : store(errors + i, e);
        }
        if (sums) {
            const Doubles wd = toDoubles(w), vd = toDoubles(v), ed = toDoubles(e);
            se = se + ed;
            sae = sae + abs(ed);
            se2 = fma(ed, ed, se2);
            sw2 = fma(wd, wd, sw2);
            swv = fma(wd, vd, swv);
            sv2 = fma(vd, vd, sv2);
            maxAbs = max(maxAbs, abs(e));
            const Floats nothing = set1(0.0f);
            Mask beyond = (w > high) | (w < low);
            Mask none = v == nothing;
            if constexpr (kTail) beyond = beyond & firstLanes(lanes), none = none & firstLanes(lanes);
            clipped += count(beyond);
            zeros += count(none);
            flips += count(((w < nothing) & (v > nothing)) | ((w > nothing) & (v < nothing)));
        }
    };
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __builtin_prefetch(x + i + 4096);
        step(i, 16, Whole());
    }
    if (i < n) step(i, n - i, Tail());

    if (sums) {
        Totals& t = pass.totals;
        t.se = t.se + se, t.sae = t.sae + sae, t.swv = t.swv + swv, t.sv2 = t.sv2 + sv2;
        t.maxAbs = maxAbs;
        t.n += n, t.clipped += clipped, t.zeros += zeros, t.signFlips += flips;
        pass.group = {se2, sw2};
    }
    pass.fill += n;
}

/// Whether the vector code can use these parameters; `divides`: the coder divides by aux.
QS_INLINE bool usable(const GroupParams& p, bool divides) {
    const bool finiteScale = __builtin_fabsf(p.scale) <= 3.402823466e38f;
    return finiteScale && (!divides || (p.aux > 0 && p.aux <= 3.402823466e38f));
}

/// Uses the reference for a part of a group, without the results per group.
inline void referencePart(Pass& pass, const GroupParams& params, std::size_t begin, std::size_t n) {
    RunOut part = pass.out;
    part.scales = part.groupSse = part.groupSsw = part.groupAbsMax = nullptr;
    reference::quantizeGroup(pass.run, part, params, begin, n, 0);
}

QS_INLINE void closeGroup(Pass& pass) {
    pass.totals.se2 = pass.totals.se2 + pass.group.se2;
    pass.totals.sw2 = pass.totals.sw2 + pass.group.sw2;
    pass.group = {zeroDoubles(), zeroDoubles()};
}

template<class Coder> QS_INLINE ValueSource valueSource(const GroupParams& params, const std::uint32_t* valueBins) {
    if (!valueBins) return ValueSource::None;
    if (params.scale == 0) return ValueSource::Zero;
    if (Coder::kHasQuotient && params.aux == params.scale) return ValueSource::Quotient;
    return params.scale == 1 ? ValueSource::Itself : ValueSource::Divide;
}

/// Handles one group with f64 sums. `bits`: those of its largest magnitude; 0 if the group is so long that each part is
/// scanned here.
template<class Coder>
inline void oneGroup(const Coder& coder, Pass& pass, std::size_t begin, std::size_t n, std::size_t g,
                     const GroupParams& params, unsigned bits, bool lookedThrough = true) {
    const Run& run = pass.run;
    const RunOut& out = pass.out;
    const float* x = run.x + begin;
    if (bits >= kInfinityBits || !usable(params, Coder::kHasQuotient)) {
        reference::quantizeGroup(run, out, params, begin, n, g);
        return;
    }
    const ValueSource source = valueSource<Coder>(params, out.valueBins);
    for (std::size_t i = 0; i < n;) {
        if (pass.fill == kPiece) pass.flush();
        std::size_t part = n - i < kPiece - pass.fill ? n - i : kPiece - pass.fill;
        if (part < n - i && part % 16) { // lanes are counted from the start of the group
            part -= part % 16;
            if (part == 0) {
                pass.flush();
                continue;
            }
        }
        if (!lookedThrough && absMaxBits(x + i, part) >= kInfinityBits)
            referencePart(pass, params, begin + i, part);
        else
            span<false>(coder, pass, begin + i, part, &params.aux, &params.scale, source, nullptr);
        i += part;
    }
    if (out.groupSse) out.groupSse[g] = float(fold(pass.group.se2));
    if (out.groupSsw) out.groupSsw[g] = float(fold(pass.group.sw2));
    if (out.groupAbsMax) out.groupAbsMax[g] = fromBits(bits);
    if (out.scales) out.scales[g] = params.scale;
    closeGroup(pass);
}

#include "kernels/simd/small_groups_text.h"

/// Handles n <= kPiece elements in groups of fewer than 16. The last group may be shorter.
template<class Coder>
inline void smallGroups(const Coder& coder, Pass& pass, std::size_t begin, std::size_t n, std::size_t g) {
    const Run& run = pass.run;
    const RunOut& out = pass.out;
    alignas(64) float aux[kPiece + 64], scale[kPiece + 64], errors[kPiece + 64], columns[2][16];
    const float* x = run.x + begin;
    const std::size_t group = run.group, groups = (n + group - 1) / group;
    bool fine = absMaxBits(x, n) < kInfinityBits;
    if (fine && group == 1 && run.given && run.givenStride == 1) {
        Floats high = set1(0.0f), low = set1(__builtin_inff());
        for (std::size_t i = 0; i < n; i += 16) {
            Floats s, a;
            if (i + 16 <= n) {
                deinterleave(&run.given[g + i].scale, s, a);
            } else {
                for (std::size_t k = 0; k < 16; ++k) {
                    const GroupParams& p = run.given[i + k < n ? g + i + k : g + n - 1];
                    columns[0][k] = p.scale, columns[1][k] = p.aux;
                }
                s = load(columns[0]), a = load(columns[1]);
            }
            store(scale + i, s);
            store(aux + i, a);
            high = max(abs(s), max(a, high)); // a NaN in the first operand is dropped here and found through `low`
            low = min(low, select((abs(s) < set1(__builtin_inff())) & (a > set1(0.0f)), a, set1(-1.0f)));
        }
        fine = reduceMin(low) > 0 && reduceMax(high) <= 3.402823466e38f;
    } else if (fine && !run.given && run.statistic == GroupStatistic::AbsMax && smallBounds(run, x, n, aux, scale)) {
        // smallBounds() has computed all of them.
    } else if (fine) {
        const bool twn = !run.given && run.statistic == GroupStatistic::MeanAbsTwn && group == 2;
        if (twn) fine = twnOfPairs(x, n / 2, aux, scale);
        for (std::size_t k = twn ? n / 2 : 0; k < groups && fine; ++k) {
            const std::size_t first = k * group, size = n - first < group ? n - first : group;
            GroupParams params;
            if (run.given) {
                params = run.given[(g + k) * run.givenStride];
            } else if (run.statistic == GroupStatistic::AbsMax) {
                float bound = 0;
                for (std::size_t i = first; i < first + size; ++i) {
                    const float a = __builtin_fabsf(x[i]);
                    bound = a > bound ? a : bound;
                }
                params = paramsFromAbsMax(run, bound);
            } else {
                params = groupParams(set(), run, x + first, size);
            }
            fine = usable(params, Coder::kHasQuotient);
            store(aux + first, set1(params.aux)); // writes past the group; the next group overwrites that
            store(scale + first, set1(params.scale));
        }
    }
    if (!fine) {
        for (std::size_t k = 0; k < groups; ++k) {
            const std::size_t first = k * group, size = n - first < group ? n - first : group;
            const GroupParams params =
                run.given ? run.given[(g + k) * run.givenStride] : groupParams(set(), run, x + first, size);
            reference::quantizeGroup(run, out, params, begin + first, size, g + k);
        }
        return;
    }
    if (pass.fill + n > kPiece) pass.flush();
    span<true>(coder, pass, begin, n, aux, scale, out.valueBins ? ValueSource::Divide : ValueSource::None,
               out.groupSse ? errors : nullptr);
    closeGroup(pass);
    if (out.scales)
        for (std::size_t k = 0; k < groups; ++k) out.scales[g + k] = scale[k * group];
    if (!out.groupAbsMax && !out.groupSse && !out.groupSsw) return;
    const std::size_t whole = isSmallPower(group) || group == 1 ? n / group : 0;
    if (group == 1) smallFigures<1>(out, x, errors, whole, g);
    if (group == 2) smallFigures<2>(out, x, errors, whole, g);
    if (group == 4) smallFigures<4>(out, x, errors, whole, g);
    if (group == 8) smallFigures<8>(out, x, errors, whole, g);
    for (std::size_t k = whole; k < groups; ++k) {
        const std::size_t first = k * group, size = n - first < group ? n - first : group;
        if (out.groupAbsMax) out.groupAbsMax[g + k] = fromBits(absMaxBits(x + first, size));
        const auto squares = [size](const float* p) __attribute__((always_inline)) {
            const Doubles d = toDoubles(load(p, size));
            return float(fold(d * d));
        };
        if (out.groupSse) out.groupSse[g + k] = squares(errors + first);
        if (out.groupSsw) out.groupSsw[g + k] = squares(x + first);
    }
}

// Groups of 16 or more elements.
#include "kernels/simd/groups_text.h"

/// Handles elements from `begin` on if the instruction set has a faster way. Returns how many it handled.
template<class Coder> QS_INLINE std::size_t wholeGroups(const Coder&, Pass&, std::size_t) { return 0; }

template<class Coder> inline void quantizeWith(const Coder& coder, const Run& run, const RunOut& wanted) {
    RunOut out = wanted;
    if (!Coder::kHasCodes) out.codes = nullptr, out.codeCounts = nullptr;
    Pass pass(run, out);
    if (run.group >= 16) {
        const std::size_t groups = run.group >= kPiece * 2 ? 1 : kPiece * 2 / run.group;
        const std::size_t step = (groups < kTogether ? groups : kTogether) * run.group;
        for (std::size_t begin = 0; begin < run.n;) {
            begin += wholeGroups(coder, pass, begin);
            const std::size_t n = run.n - begin < step ? run.n - begin : step;
            if (n > 0) largeGroups(coder, pass, begin, n, begin / run.group);
            begin += n;
        }
    } else {
        const std::size_t groups = kPiece / run.group, step = groups * run.group;
        for (std::size_t begin = 0, g = 0; begin < run.n; begin += step, g += groups)
            smallGroups(coder, pass, begin, run.n - begin < step ? run.n - begin : step, g);
    }
    pass.finish();
}

/// Whether the levels are the consecutive integers from -zeroCode on.
inline bool areIntegers(const Run& run) {
    if (run.levelCount <= run.zeroCode) return false;
    for (int i = 0; i < run.levelCount; ++i)
        if (run.levels[i] != float(i - run.zeroCode)) return false;
    return true;
}
/// Whether the levels are those of the run's small float.
inline bool areFloats(const Run& run) {
    const int negative = run.levelCount - 1 - run.zeroCode + (run.shape.minusZero ? 1 : 0);
    if (run.zeroCode != negative || run.levelCount > 256) return false;
    for (int i = 0; i < run.levelCount; ++i) {
        const int bits = i < negative ? run.levelCount - 1 - negative - i : i - negative;
        const float value = floatMagnitude(run.shape, unsigned(bits));
        if (run.levels[i] != (i < negative ? -value : value)) return false;
    }
    return true;
}

inline void quantize(const Run& run, const RunOut& out) {
    switch (run.encoder) {
    case Encoder::NearestNf4:
        if (run.levelCount == 16) return quantizeWith(Nf4Coder(run), run, out);
        break;
    case Encoder::NearestLevel:
        if (run.levelCount < 2 || run.levelCount > 256 || !run.boundaries) break;
        if (run.levelCount <= 16) return quantizeWith(LevelCoder<4>(run), run, out);
        if (run.levelCount <= 32) return quantizeWith(LevelCoder<5>(run), run, out);
        return quantizeWith(LevelCoder<8>(run), run, out);
    case Encoder::RoundInteger:
    case Encoder::RoundTernary:
        if (areIntegers(run)) return quantizeWith(RoundCoder<false>(run.zeroCode, run.levelCount), run, out);
        break;
    case Encoder::RoundReciprocal:
        if (areIntegers(run)) return quantizeWith(RoundCoder<true>(run.zeroCode, run.levelCount), run, out);
        break;
    case Encoder::RoundFloat:
        if (areFloats(run)) return quantizeWith(FloatCoder(run), run, out);
        break;
    case Encoder::Sign:
        if (run.levelCount == 2) return quantizeWith(SignCoder(run), run, out);
        break;
    case Encoder::Threshold:
        if (run.levelCount == 3) return quantizeWith(ThresholdCoder(run), run, out);
        break;
    case Encoder::Identity: return quantizeWith(IdentityCoder<Small::None>(), run, out);
    case Encoder::RoundF16: return quantizeWith(IdentityCoder<Small::F16>(), run, out);
    case Encoder::RoundBf16: return quantizeWith(IdentityCoder<Small::Bf16>(), run, out);
    default: break; // the reference supports all encoders
    }
    reference::quantize(run, out);
}
