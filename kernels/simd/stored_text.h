// SPDX-License-Identifier: GPL-3.0-or-later
// Conversions to and from stored forms. The computing pass prefetches rows 16 KiB ahead, one cache line per vector. A
// burst of prefetches would halve the memory bandwidth.

constexpr std::size_t kAhead = 4096; ///< floats between a load and its prefetch
/// From this number of values on, outputs bypass the caches. Such a store does not read its cache line first, which
/// leaves more bandwidth for the reads.
constexpr std::size_t kPastCaches = std::size_t(4) << 20;

/// The bits of the largest magnitude of a row of 16 or more values that is in the cache. Prefetches the first half of
/// the next row.
QS_INLINE unsigned absMaxBitsOfRow(const float* row, std::size_t count, const float* next) {
    Ints most = bitsOf(abs(load(row)));
    for (std::size_t i = 0; i + 32 <= count; i += 32) {
        __builtin_prefetch(next + i / 2);
        if (i % kPage == 0) __builtin_prefetch(next + count + i);
        most = maxUnsigned(most, maxUnsigned(bitsOf(abs(load(row + i))), bitsOf(abs(load(row + i + 16)))));
    }
    for (std::size_t i = count / 32 * 32; i < count; i += 16)
        most = maxUnsigned(most, bitsOf(abs(i + 16 <= count ? load(row + i) : load(row + i, count - i))));
    alignas(64) unsigned all[16];
    __builtin_memcpy(all, &most, sizeof all);
    unsigned top = 0;
    for (const unsigned bits : all) top = bits > top ? bits : top;
    return top;
}

inline void quantizeInt8Stored(const float* x, std::size_t n, std::size_t group, std::int8_t* q, float* scales) {
    const bool past = n >= kPastCaches && reinterpret_cast<std::uintptr_t>(q) % 16 == 0 && group % 16 == 0;
    for (std::size_t begin = 0, g = 0; begin < n; begin += group, ++g) {
        const std::size_t count = n - begin < group ? n - begin : group;
        const float* row = x + begin;
        std::int8_t* out = q + begin;
        // Both passes over a row prefetch one half of the next row. If only one did, the memory would be idle in the
        // other.
        const bool shared = count >= 1024 && count <= kSharedRow;
        const float* const next = count < n - begin ? row + count : row;
        const unsigned bound = shared ? absMaxBitsOfRow(row, count, next) : absMaxBits(row, count);
        if (bound >= kInfinityBits) {
            reference::quantizeInt8Stored(row, count, count, out, scales + g);
            continue;
        }
        const float scale = paramsFromAbsMax(Encoder::RoundInteger, fromBits(bound), 1, 127).scale;
        scales[g] = scale;
        const Floats divisor = set1(scale), inverse = set1(1.0f) / divisor;
        // Multiplying by the reciprocal is off by less than 2 ulp of 127. Away from half-integers it rounds to the same
        // integer as the division. Near them (2^-15 is 4 ulp) divide.
        const Floats nearHalf = set1(0.5f - 0x1p-15f);
        const auto round = [&](Floats w) __attribute__((always_inline)) {
            const Floats estimate = w * inverse, rounded = roundEven(estimate);
            if (__builtin_expect(bits(abs(estimate - rounded) > nearHalf) != 0, 0)) return toInts(w / divisor);
            return toInts(rounded);
        };
        std::size_t i = 0;
        const auto put = [&](std::size_t at) __attribute__((always_inline)) {
            const Ints codes = round(load(row + at));
            if (past)
                streamBytes(reinterpret_cast<std::uint8_t*>(out + at), codes);
            else
                storeBytes(reinterpret_cast<std::uint8_t*>(out + at), codes);
        };
        if (shared)
            for (; i + 32 <= count; i += 32) {
                __builtin_prefetch(next + count / 2 + i / 2);
                put(i), put(i + 16);
            }
        for (; i + 16 <= count; i += 16) {
            __builtin_prefetch(row + i + kAhead);
            put(i);
        }
        if (i < count) storeBytes(reinterpret_cast<std::uint8_t*>(out + i), count - i, round(load(row + i, count - i)));
    }
    if (past) _mm_sfence();
}

/// The number of elements from the start of a row that the instruction set has handled, a multiple of 64: see
/// ternary_avx512.h.
template<class Float>
QS_INLINE std::size_t ternaryTurns(const Float*, std::size_t, const Float*, float, std::uint8_t*, Doubles&,
                                   std::uint64_t&) {
    return 0;
}

template<class Float> QS_INLINE std::size_t ternaryRows(const Float*, std::size_t, std::size_t, std::uint8_t*, float*) {
    return 0;
}

inline void quantizeTernaryPacked(const float* x, std::size_t n, std::size_t group, std::uint8_t* packed,
                                  float* scales) {
    const std::size_t done = ternaryRows(x, n, group, packed, scales); // a multiple of 4 elements, so whole bytes
    packed += done / 4;
    for (std::size_t begin = done, g = done / group; begin < n; begin += group, ++g) {
        const std::size_t count = n - begin < group ? n - begin : group;
        const float* row = x + begin;
        const bool shared = count <= kSharedRow;
        const float* const next = row + (count < kAhead ? kAhead : count);
        const float limit =
            twnThreshold(shared ? sumAbsOfRow(row, count, next) : sumAbs(row, count, false, nullptr), count);
        if (!(limit <= 3.402823466e38f)) {
            reference::quantizeTernaryPacked(row, count, count, packed, scales + g);
            packed += (count + 3) / 4;
            continue;
        }
        Doubles above = zeroDoubles();
        std::uint64_t taken = 0;
        const Floats high = set1(limit), low = set1(-limit);
        std::size_t i = ternaryTurns(row, count, shared ? next + count / 2 : nullptr, limit, packed, above, taken);
        packed += i / 4;
        for (; i < count; i += 16) {
            const bool whole = i + 16 <= count;
            if (whole && !(shared && i % 32)) __builtin_prefetch(shared ? next + (count + i) / 2 : row + i + kAhead);
            const Floats w = whole ? load(row + i) : load(row + i, count - i);
            const Mask plus = w > high, minus = w < low;
            above = above + toDoubles(only(plus | minus, abs(w)));
            const std::uint64_t plusBits = bits(plus), zeroBits = ~(plusBits | bits(minus)) & 0xffff;
            taken += unsigned(__builtin_popcountll(0xffff ^ zeroBits));
            std::uint64_t pairs = _pdep_u64(plusBits, 0xaaaaaaaau) | _pdep_u64(zeroBits, 0x55555555u);
            if (whole) {
                __builtin_memcpy(packed, &pairs, 4);
                packed += 4;
            } else {
                pairs &= (std::uint64_t(1) << (2 * (count - i))) - 1;
                for (std::size_t b = 0; b < (count - i + 3) / 4; ++b) *packed++ = std::uint8_t(pairs >> (8 * b));
            }
        }
        scales[g] = paramsFromTwn(limit, {fold(above), taken}).scale;
    }
}

inline void dequantize(const std::uint8_t* codes, std::size_t n, std::size_t group, const float* scales,
                       const float* levels, int levelCount, float* out) {
    bool integers = levelCount == 255;
    for (int i = 0; integers && i < levelCount; ++i) integers = levels[i] == float(i - 127);
    if (group < 16) return reference::dequantize(codes, n, group, scales, levels, levelCount, out);
    const bool many = levelCount > 16 && !integers;
    alignas(64) float table[16] = {};
    for (int i = 0; i < 16 && i < levelCount; ++i) table[i] = levels[i];
    const Floats small = load(table);
    const Ints last = set1(levelCount - 1), offset = set1(-127);
    for (std::size_t begin = 0, g = 0; begin < n; begin += group, ++g) {
        const std::size_t count = n - begin < group ? n - begin : group;
        const Floats scale = set1(scales[g]);
        std::size_t i = begin;
        for (; i + 16 <= begin + count; i += 16) {
            const Ints code = minUnsigned(loadBytes(codes + i), last);
            const Floats level = integers ? toFloats(code + offset)
                                 : many   ? gather(levels, code)
                                          : lookup16(small, code);
            store(out + i, level * scale);
        }
        reference::dequantize(codes + i, begin + count - i, count, scales + g, levels, levelCount, out + i);
    }
}

inline void dequantizeNf4Packed(const std::uint8_t* packed, std::size_t n, std::size_t block, const float* absmax,
                                const float* levels, float* out) {
    const Floats table = load(levels);
    const bool past = n >= kPastCaches && reinterpret_cast<std::uintptr_t>(out) % 64 == 0 && block % 16 == 0;
    for (std::size_t begin = 0, g = 0; begin < n; begin += block, ++g) {
        const std::size_t end = n - begin < block ? n : begin + block;
        const Floats scale = set1(absmax[g]);
        std::size_t i = begin;
        if (past)
            for (; i + 16 <= end; i += 16) stream(out + i, lookup16(table, nibbles(packed + i / 2)) * scale);
        else
            for (; i + 16 <= end; i += 16) store(out + i, lookup16(table, nibbles(packed + i / 2)) * scale);
        if (i < end) reference::dequantizeNf4Packed(packed + i / 2, end - i, block, absmax + g, levels, out + i);
    }
    if (past) _mm_sfence();
}

/// Handles every even block size; one byte per code goes through the L1 cache.
inline void quantizeNf4AnyBlock(const float* x, std::size_t n, std::size_t block, std::uint8_t* packed, float* absmax,
                                ErrorSums* sums) {
    constexpr std::size_t kPart = 4096;
    std::uint8_t codes[kPart];
    ErrorSums measured;
    Run run;
    run.levels = nf4Levels().data(), run.levelCount = 16, run.zeroCode = 7;
    RunOut out;
    out.codes = codes;
    out.sums = sums ? &measured : nullptr;
    const auto part = [&](std::size_t begin, std::size_t count) {
        run.x = x + begin, run.n = count;
        quantize(run, out);
        for (std::size_t i = 0; i + 1 < count; i += 2)
            packed[(begin + i) / 2] = std::uint8_t(codes[i] << 4 | codes[i + 1]);
    };
    if (block <= kPart) {
        run.group = block;
        const std::size_t step = kPart / block * block;
        for (std::size_t begin = 0; begin < n; begin += step) {
            out.scales = absmax + begin / block;
            part(begin, n - begin < step ? n - begin : step);
        }
    } else {
        run.group = kPart;
        for (std::size_t begin = 0, g = 0; begin < n; begin += block, ++g) {
            const std::size_t end = n - begin < block ? n : begin + block;
            const GroupParams params = groupParams(set(), run, x + begin, end - begin);
            absmax[g] = params.scale;
            run.given = &params;
            for (std::size_t i = begin; i < end; i += kPart) part(i, end - i < kPart ? end - i : kPart);
            run.given = nullptr;
        }
    }
    if (!sums) return;
    sums->n += measured.n, sums->se2 += measured.se2, sums->sw2 += measured.sw2;
    if (measured.maxAbs > sums->maxAbs) sums->maxAbs = measured.maxAbs;
}
