// SPDX-License-Identifier: GPL-3.0-or-later
// The measuring pass over groups of 16 or more elements whose squares stay within the range of f32. Sums are f32 over a
// stretch and f64 beyond it. Histogram bins are counted 256 elements later, between the arithmetic. If they were
// counted at once, loads would wait for the vector stores before them.

constexpr std::size_t kTogether = 64;      ///< groups whose scales are computed together
constexpr std::size_t kFewVectors = 48;    ///< smaller groups are too short for thresholds of their own
constexpr std::size_t kWholeGroup = 65536; ///< longer groups with given scales are not scanned before

/// f32 sums that may continue across groups. The sums of squares belong to one group.
struct StretchSums {
    Floats se, sae, swv, sv2;
    std::size_t vectors;
};

QS_INLINE void flushStretch(StretchSums& s, Totals& t) {
    t.se = t.se + toDoubles(s.se), t.sae = t.sae + toDoubles(s.sae);
    t.swv = t.swv + toDoubles(s.swv), t.sv2 = t.sv2 + toDoubles(s.sv2);
    s.se = s.sae = s.swv = s.sv2 = set1(0.0f);
    s.vectors = 0;
}

/// Adds one to each of 16 bins.
QS_INLINE void count16(const std::uint16_t* index, std::uint32_t* bins) {
    // One address for all: otherwise gcc 12 keeps 16 addresses for two histograms, and spills them.
    asm("" : "+r"(index));
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) ++bins[index[k]];
}

/// Counts values beyond the outermost levels, and values decoded to the other sign. They are rare, so this is a
/// separate loop.
template<class Coder>
__attribute__((noinline)) void countOdd(const float* x, std::size_t n, const Coder& coder, const GroupParams& params,
                                        const Run& run, Totals& totals) {
    const auto group = coder.forGroup(params);
    const Floats nothing = set1(0.0f), wider = set1(1.000001f), low = set1(run.levels[0]) * group.scale * wider,
                 high = set1(run.levels[run.levelCount - 1]) * group.scale * wider;
    for (std::size_t i = 0; i < n; i += 16) {
        const Mask there = firstLanes(n - i < 16 ? n - i : 16);
        const Floats w = n - i < 16 ? load(x + i, n - i) : load(x + i);
        Floats quotient = w;
        const Floats v = coder.decode(coder.encode(w, group, quotient), w, group);
        totals.clipped += count(((w > high) | (w < low)) & there);
        totals.signFlips += count(((w < nothing) & (v > nothing)) | ((w > nothing) & (v < nothing)));
    }
}

/// Whether a group with the largest magnitude `bound` may contain such values.
QS_INLINE bool mayBeOdd(const Run& run, const GroupParams& params, float bound, bool keepsSigns) {
    constexpr float kWider = 1.000001f;
    const float high = run.levels[run.levelCount - 1] * params.scale * kWider,
                low = run.levels[0] * params.scale * kWider;
    return !keepsSigns || !(params.scale >= 0 && params.aux >= 0 && bound <= high && -bound >= low);
}

/// The outputs that a run wants. For the frequent combinations they are compile-time constants, because those need all
/// registers.
enum Wanted : unsigned { kCodes = 1, kDecoded = 2, kSums = 4, kCounts = 8, kErrors = 16, kValues = 32, kAny = 64 };
QS_INLINE unsigned wantedOf(const Pass& pass) {
    const RunOut& out = pass.out;
    return (out.codes ? kCodes : 0u) | (out.decoded ? kDecoded : 0u) | (pass.sums ? kSums : 0u) |
           (out.codeCounts ? kCounts : 0u) | (out.errorBins ? kErrors : 0u) | (out.valueBins ? kValues : 0u);
}

/// Quantizes and measures n finite elements from `begin` on. They are the groups from number `g` on; the last may be
/// shorter.
template<unsigned kWanted, class Coder>
__attribute__((noinline)) void groupsInF32(const Coder& coder, Pass& pass, std::size_t begin, std::size_t n,
                                           std::size_t g, const GroupParams* params, const unsigned* maxBits,
                                           const bool* odd) {
    using reference::kStretch;
    const Run& run = pass.run;
    const RunOut& out = pass.out;
    const unsigned wanted = kWanted == kAny ? wantedOf(pass) : kWanted;
    const auto wants = [wanted](unsigned what) __attribute__((always_inline)) {
        return ((kWanted == kAny ? wanted : kWanted) & what) != 0;
    };
    std::uint32_t* const errorBins = out.errorBins;
    std::uint32_t* const valueBins = out.valueBins;
    const Floats nothing = set1(0.0f);
    StretchSums s = {nothing, nothing, nothing, nothing, 0};
    Totals& t = pass.totals; // most of it stays in memory: it is touched once per stretch
    Doubles totalSe2 = t.se2, totalSw2 = t.sw2;
    Floats maxAbs = t.maxAbs;
    std::uint64_t zeros = 0;
    std::size_t at = pass.ringAt, codesFill = pass.groupCodesFill;
    const float* x = run.x + begin;
    std::uint8_t* codes = wants(kCodes) ? out.codes + begin : nullptr;
    float* decoded = wants(kDecoded) ? out.decoded + begin : nullptr;

    auto next = coder.forGroup(params[0]);
    for (std::size_t left = n, k = 0; left > 0; ++k) {
        const std::size_t size = left < run.group ? left : run.group;
        left -= size;
        const auto group = next; // computed during the previous group
        if (left > 0) next = coder.forGroup(params[k + 1]);
        const ValueSource source = wants(kValues) ? valueSource<Coder>(params[k], valueBins) : ValueSource::None;
        Doubles groupSe2 = zeroDoubles(), groupSw2 = groupSe2;
        for (std::size_t rest = size; rest > 0;) {
            const std::size_t stretch = rest < kStretch ? rest : kStretch;
            rest -= stretch;
            const float* const end = x + stretch;
            Floats se2 = nothing, sw2 = nothing;
            if (wants(kSums)) {
                const std::size_t vectors = (stretch + 15) / 16;
                if (s.vectors + vectors > kStretch / 16) flushStretch(s, t);
                s.vectors += vectors;
                if (odd[k]) countOdd(x, stretch, coder, params[k], run, t);
            }
            if (wants(kCounts) && codesFill + kStretch > kPiece) {
                pass.groupCodesFill = codesFill;
                pass.flushGroupCodes();
                codesFill = 0;
            }
            const auto step = [&](std::size_t lanes, auto tag) __attribute__((always_inline)) {
                constexpr bool kTail = decltype(tag)::kTail;
                const Floats w = kTail ? load(x, lanes) : load(x);
                Floats quotient = w;
                const Ints code = coder.encode(w, group, quotient);
                if (wants(kCodes)) {
                    kTail ? storeBytes(codes, lanes, code) : storeBytes(codes, code);
                    codes += kTail ? lanes : 16;
                }
                if (wants(kCounts)) {
                    storeBytes(pass.groupCodes + codesFill, code);
                    codesFill += kTail ? lanes : 16;
                }
                Floats v = coder.decode(code, w, group);
                if (wants(kDecoded)) {
                    kTail ? store(decoded, lanes, v) : store(decoded, v);
                    decoded += kTail ? lanes : 16;
                }
                if (wants(kValues)) {
                    Floats value = quotient;
                    if (source != ValueSource::Quotient) {
                        if (source == ValueSource::Itself) value = w;
                        if (source == ValueSource::Divide) value = w / group.scale;
                        if (source == ValueSource::Zero) value = nothing;
                    }
                    if constexpr (kTail) value = only(firstLanes(lanes), value);
                    storeBins(pass.valueRing + at, value);
                }
                if constexpr (kTail) v = only(firstLanes(lanes), v); // w is +0 there, so all terms are +0
                const Floats e = v - w;
                if (wants(kErrors)) storeBins(pass.errorRing + at, e);
                if (wants(kSums)) {
                    const Floats magnitude = abs(e);
                    s.se = s.se + e;
                    s.sae = s.sae + magnitude;
                    s.swv = s.swv + w * v;
                    s.sv2 = s.sv2 + v * v;
                    se2 = se2 + e * e;
                    sw2 = sw2 + w * w;
                    maxAbs = max(maxAbs, magnitude);
                    Mask none = v == nothing;
                    if constexpr (kTail) none = none & firstLanes(lanes);
                    zeros += count(none);
                }
                if (wants(kErrors | kValues)) {
                    const std::size_t behind = at ^ kRing / 2;
                    if (wants(kErrors)) count16(pass.errorRing + behind, errorBins);
                    if (wants(kValues)) count16(pass.valueRing + behind, valueBins);
                    at = (at + 16) % kRing;
                    if constexpr (kTail) pass.notValues += std::uint32_t(16 - lanes);
                }
            };
            for (; end - x >= 16; x += 16) {
                __builtin_prefetch(x + 4096);
                step(16, Whole());
            }
            if (x < end) {
                step(std::size_t(end - x), Tail());
                x = end;
            }
            if (wants(kSums)) groupSe2 = groupSe2 + toDoubles(se2), groupSw2 = groupSw2 + toDoubles(sw2);
        }
        if (wants(kSums)) {
            totalSe2 = totalSe2 + groupSe2, totalSw2 = totalSw2 + groupSw2;
            if (out.groupSse) out.groupSse[g + k] = float(fold(groupSe2));
            if (out.groupSsw) out.groupSsw[g + k] = float(fold(groupSw2));
        }
        if (out.groupAbsMax) out.groupAbsMax[g + k] = fromBits(maxBits[k]);
        if (out.scales) out.scales[g + k] = params[k].scale;
    }
    if (wants(kSums)) {
        flushStretch(s, t);
        t.se2 = totalSe2, t.sw2 = totalSw2, t.maxAbs = maxAbs;
        t.n += n, t.zeros += zeros;
    }
    pass.ringAt = at, pass.groupCodesFill = codesFill;
}

template<class Coder>
inline void groupsAsWanted(const Coder& coder, Pass& pass, std::size_t begin, std::size_t n, std::size_t g,
                           const GroupParams* params, const unsigned* maxBits, const bool* odd) {
    switch (wantedOf(pass)) {
    case kDecoded: return groupsInF32<kDecoded>(coder, pass, begin, n, g, params, maxBits, odd);
    case kCodes: return groupsInF32<kCodes>(coder, pass, begin, n, g, params, maxBits, odd);
    case kCodes | kSums: return groupsInF32<kCodes | kSums>(coder, pass, begin, n, g, params, maxBits, odd);
    case kCodes | kSums | kErrors:
        return groupsInF32<kCodes | kSums | kErrors>(coder, pass, begin, n, g, params, maxBits, odd);
    case kSums | kCounts | kErrors | kValues:
        return groupsInF32<kSums | kCounts | kErrors | kValues>(coder, pass, begin, n, g, params, maxBits, odd);
    default: return groupsInF32<kAny>(coder, pass, begin, n, g, params, maxBits, odd);
    }
}

/// nf4 whose scales are absolute maxima, with levels from -1 to 1 and no clip factor: no value is clipped.
QS_INLINE bool isPlainNf4(const Run& run) {
    return run.encoder == Encoder::NearestNf4 && !run.given && run.statistic == GroupStatistic::AbsMax &&
           run.clip == 1 && run.levels[0] == -1 && run.levels[15] == 1;
}

/// The same for integers whose lowest level is at least as far from 0 as the highest one.
QS_INLINE bool isPlainInteger(const Run& run) {
    return run.encoder == Encoder::RoundInteger && !run.given && run.statistic == GroupStatistic::AbsMax &&
           run.clip == 1 && run.levelCount > 0 && run.levels[0] <= -run.levels[run.levelCount - 1];
}

/// Quantizes whole groups, at most kTogether of them; the last may be shorter.
template<class Coder>
inline void largeGroups(const Coder& coder, Pass& pass, std::size_t begin, std::size_t n, std::size_t g) {
    const Run& run = pass.run;
    if (run.given && run.group > kWholeGroup && !(pass.out.groupSse || pass.out.groupSsw || pass.out.groupAbsMax))
        return oneGroup(coder, pass, begin, n, g, run.given[g * run.givenStride], 0, false);
    GroupParams params[kTogether];
    unsigned bits[kTogether];
    bool fine[kTogether], odd[kTogether];
    bool keepsSigns = true;
    if constexpr (Coder::kHasCodes) keepsSigns = coder.keepsSigns(run);
    const std::size_t groups = (n + run.group - 1) / run.group;
    const auto sizeOf = [&](std::size_t k) { return n - k * run.group < run.group ? n - k * run.group : run.group; };
    absMaxBitsOfEach(run.x + begin, n, run.group, bits);
    const bool plain = isPlainNf4(run) && keepsSigns, integers = isPlainInteger(run) && keepsSigns;
    const float range = integers ? run.levels[run.levelCount - 1] : 1.0f;
    for (std::size_t k = 0; k < groups; ++k) {
        if (plain) { // the frequent case, without function calls
            params[k] = {fromBits(bits[k]), fromBits(bits[k]) + 1.17549435e-38f};
            fine[k] = reference::magnitudeInF32(bits[k]);
            odd[k] = false;
            continue;
        }
        if (integers) { // the same rule as paramsFromAbsMax()
            const float scale = fromBits(bits[k]) / range + 1.17549435e-38f;
            params[k] = {scale, scale};
            fine[k] = reference::sumsInF32(run, params[k], bits[k]) && usable(params[k], true);
            odd[k] = false;
            continue;
        }
        if (run.given)
            params[k] = run.given[(g + k) * run.givenStride];
        else if (bits[k] < kInfinityBits && run.statistic == GroupStatistic::AbsMax)
            params[k] = paramsFromAbsMax(run, fromBits(bits[k]));
        else
            params[k] = groupParams(set(), run, run.x + begin + k * run.group, sizeOf(k));
        const bool inF32 =
            pass.sums || !Coder::kHasCodes ? reference::sumsInF32(run, params[k], bits[k]) : bits[k] < kInfinityBits;
        fine[k] = inF32 && usable(params[k], Coder::kHasQuotient);
        odd[k] = pass.sums && fine[k] && mayBeOdd(run, params[k], fromBits(bits[k]), keepsSigns);
    }
    for (std::size_t k = 0; k < groups;) {
        const std::size_t first = k, at = first * run.group;
        if (!fine[k]) {
            if (plain || integers)
                params[k] = groupParams(set(), run, run.x + begin + at, sizeOf(k)); // bits may be those of a NaN
            oneGroup(coder, pass, begin + at, sizeOf(k), g + k, params[k], bits[k]);
            ++k;
            continue;
        }
        while (k < groups && fine[k]) ++k;
        const std::size_t end = k * run.group < n ? k * run.group : n;
        if constexpr (Coder::kHasCodes) { // without codes no group gets here
            const auto run = [&](const auto& fastest) {
                groupsAsWanted(fastest, pass, begin + at, end - at, g + first, params + first, bits + first,
                               odd + first);
            };
            if (pass.run.group < kFewVectors)
                run(coder);
            else
                withFastest(coder, params + first, bits + first, k - first, run);
        }
    }
}
