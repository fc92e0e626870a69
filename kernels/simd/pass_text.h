// SPDX-License-Identifier: GPL-3.0-or-later
// The state of a quantizing and measuring pass, which goes from group to group.

/// Elements between two visits to the histograms: everything stays in the L1 cache.
constexpr std::size_t kPiece = 1024;

constexpr std::size_t kRing = 512; ///< half of it holds bins that wait to be counted

/// How a value of the value histogram is computed: not at all, x / aux from the coder, x itself, x / scale, or 0.
enum class ValueSource { None, Quotient, Itself, Divide, Zero };

struct Totals {
    Doubles se, se2, sae, sw2, swv, sv2;
    Floats maxAbs;
    std::uint64_t n, clipped, zeros, signFlips;
};
/// Sums of one group in the fixed order.
struct GroupSums {
    Doubles se2, sw2;
};

struct Pass {
    const Run& run;
    const RunOut& out;
    Totals totals;
    GroupSums group;
    bool sums, manyLevels;
    std::size_t fill = 0; ///< entries that wait in the buffers below
    std::uint32_t manyCounts[4][256];
    alignas(64) std::uint8_t codes[kPiece + 64];
    alignas(64) std::uint16_t errorBins[kPiece + 16];
    alignas(64) std::uint16_t valueBins[kPiece + 16];
    // For groups of 16 or more elements: bins in a ring that starts full of zeros, and codes.
    std::size_t ringAt = 0, groupCodesFill = 0;
    std::uint32_t notValues = kRing / 2; ///< zeros counted in bin 0 that are no values
    alignas(64) std::uint8_t groupCodes[kPiece + 64];
    alignas(64) std::uint16_t errorRing[kRing];
    alignas(64) std::uint16_t valueRing[kRing];

    Pass(const Run& aRun, const RunOut& anOut) : run(aRun), out(anOut) {
        const Doubles zero = zeroDoubles();
        totals = {zero, zero, zero, zero, zero, zero, set1(0.0f), 0, 0, 0, 0};
        group = {zero, zero};
        sums = out.sums || out.groupSse || out.groupSsw;
        manyLevels = out.codeCounts && run.levelCount > 16;
        if (manyLevels) __builtin_memset(manyCounts, 0, sizeof manyCounts);
        __builtin_memset(errorRing, 0, sizeof errorRing);
        __builtin_memset(valueRing, 0, sizeof valueRing);
    }
    void flush();
    void flushGroupCodes() { countCodes(groupCodes, groupCodesFill), groupCodesFill = 0; }
    void countCodes(const std::uint8_t* bytes, std::size_t n);
    void drainRing(const std::uint16_t* ring, std::uint32_t* bins);
    void finish();
};

inline void Pass::countCodes(const std::uint8_t* bytes, std::size_t n) {
    if (!manyLevels) {
        if (out.codeCounts) countBytes(bytes, n, run.levelCount, out.codeCounts);
        return;
    }
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) { // four tables, because equal neighbours would wait for each other
        ++manyCounts[0][bytes[i]];
        ++manyCounts[1][bytes[i + 1]];
        ++manyCounts[2][bytes[i + 2]];
        ++manyCounts[3][bytes[i + 3]];
    }
    for (; i < n; ++i) ++manyCounts[0][bytes[i]];
}

inline void Pass::drainRing(const std::uint16_t* ring, std::uint32_t* bins) {
    for (std::size_t i = 0; i < kRing / 2; ++i) ++bins[ring[(ringAt + kRing / 2 + i) % kRing]];
    bins[0] -= notValues;
}

inline void Pass::flush() {
    if (out.errorBins) countBins(errorBins, fill, out.errorBins);
    if (out.valueBins) countBins(valueBins, fill, out.valueBins);
    countCodes(codes, fill);
    fill = 0;
}

inline void Pass::finish() {
    flush();
    flushGroupCodes();
    if (out.errorBins) drainRing(errorRing, out.errorBins);
    if (out.valueBins) drainRing(valueRing, out.valueBins);
    if (manyLevels)
        for (int code = 0; code < run.levelCount; ++code)
            for (const auto& counts : manyCounts) out.codeCounts[code] += counts[code];
    if (!out.sums) return;
    ErrorSums s;
    s.n = double(totals.n);
    s.se = fold(totals.se), s.se2 = fold(totals.se2), s.sae = fold(totals.sae);
    s.sw2 = fold(totals.sw2), s.swv = fold(totals.swv), s.sv2 = fold(totals.sv2);
    s.maxAbs = reduceMax(totals.maxAbs);
    s.clipped = totals.clipped, s.zeros = totals.zeros, s.signFlips = totals.signFlips;
    out.sums->merge(s);
}
