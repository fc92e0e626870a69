// SPDX-License-Identifier: GPL-3.0-or-later
// q2_k to q6_k: 256 values. A sub-block of 16 or 32 values has a scale, and perhaps a minimum. Each is an integer of a
// few bits times an f16.

/// The codes of n values under a known scale and minimum. If the scale is 0, every code is `none`.
template<int n>
inline void encodeUnder(const float* x, float d, float minimum, float low, float high, int none, std::uint8_t* codes) {
    for (int i = 0; i < n; i += kLanes) {
        const Floats v = (load(x + i) + minimum) / d;
        storeCodes(codes + i, d == 0 ? Ints{} + none : truncated(nearestWithin(v, low, high)) - int(low));
    }
}

/// q2_k. Bytes: 16 bytes of 4-bit scales and minimums, 64 bytes of codes, f16 d, f16 m.
struct Q2K {
    static constexpr int elements = 256, bytes = 84, group = 16, first = 0;
    static constexpr bool offset = true;
    static void encode(const float* x, std::uint8_t* out) {
        float scale[16], minimum[16], mostScale = 0, mostMinimum = 0;
        for (int s = 0; s < 16; s += kLanes) {
            Floats columns[16], weights[16], fittedScale, fittedMinimum;
            transpose<16>(x + 16 * s, kLanes, columns);
            for (int i = 0; i < 16; ++i) weights[i] = magnitude(columns[i]);
            RangeFit<16, true>{3, 15, -0.5f}(columns, weights, fittedScale, fittedMinimum);
            store(scale + s, fittedScale), store(minimum + s, fittedMinimum);
        }
        for (int s = 0; s < 16; ++s) {
            mostScale = scale[s] > mostScale ? scale[s] : mostScale;
            mostMinimum = minimum[s] > mostMinimum ? minimum[s] : mostMinimum;
        }
        const float perScale = mostScale > 0 ? 15.0f / mostScale : 0.0f;
        const float perMinimum = mostMinimum > 0 ? 15.0f / mostMinimum : 0.0f;
        writeF16(out + 80, mostScale / 15), writeF16(out + 82, mostMinimum / 15);
        const float d = readF16(out + 80), m = readF16(out + 82);
        std::uint8_t codes[256];
        for (int s = 0; s < 16; ++s) {
            const int scaleUnits = nearestUnits(perScale * scale[s], 0, 15);
            const int minimumUnits = nearestUnits(perMinimum * minimum[s], 0, 15);
            out[s] = std::uint8_t(scaleUnits | minimumUnits << 4);
            encodeUnder<16>(x + 16 * s, d * float(scaleUnits), m * float(minimumUnits), 0, 3, 0, codes + 16 * s);
        }
        pack2(codes, out + 16);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) { unpack2(in + 16, codes); }
    static void scales(const std::uint8_t* in, float* scale, float* minimum) {
        const float d = readF16(in + 80), m = readF16(in + 82);
        for (int s = 0; s < 16; ++s) scale[s] = d * float(in[s] & 15), minimum[s] = -(m * float(in[s] >> 4));
    }
};

/// q3_k. Bit k of byte j is the third bit of element 32 k + j. Scales have 6 bits: first the low 4 bits of all, then
/// the high 2 bits, four in a byte.
struct Q3K {
    static constexpr int elements = 256, bytes = 110, group = 16, first = -4;
    static constexpr bool offset = false;
    static void encode(const float* x, std::uint8_t* out) {
        float scale[16];
        for (int s = 0; s < 16; s += kLanes) {
            Floats columns[16];
            transpose<16>(x + 16 * s, kLanes, columns);
            store(scale + s, fitInTurn<16>(columns, 4));
        }
        const float most = signedMaxOf(scale, 16);
        const float perScale = most != 0 ? -32.0f / most : 0.0f;
        writeF16(out + 108, most != 0 ? 1 / perScale : 0.0f);
        const float d = readF16(out + 108);
        std::memset(out + 96, 0, 12);
        std::uint8_t codes[256];
        for (int s = 0; s < 16; ++s) {
            const int units = most != 0 ? nearestUnits(perScale * scale[s], -32, 31) : -32;
            const unsigned stored = most != 0 ? unsigned(units + 32) : 0u;
            out[96 + s % 8] = std::uint8_t(out[96 + s % 8] | (stored & 15) << (s / 8 * 4));
            out[104 + s % 4] = std::uint8_t(out[104 + s % 4] | stored >> 4 << (s / 4 * 2));
            encodeUnder<16>(x + 16 * s, d * float(units), 0, -4, 3, 4, codes + 16 * s);
        }
        pack2Low(codes, out + 32);
        for (int j = 0; j < 32; j += 16) {
            Bytes upper = {};
            for (int k = 0; k < 8; ++k) upper |= (loadBytes(codes + 32 * k + j) >> 2 & 1) << k;
            storeBytes(out + j, upper);
        }
    }
    static void pack2Low(const std::uint8_t* codes, std::uint8_t* out) {
        std::uint8_t low[256];
        for (int i = 0; i < 256; i += 16) storeBytes(low + i, loadBytes(codes + i) & 3);
        pack2(low, out);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        unpack2(in + 32, codes);
        for (int j = 0; j < 32; j += 16)
            for (int k = 0; k < 8; ++k) {
                std::uint8_t* at = codes + 32 * k + j;
                storeBytes(at, loadBytes(at) | (loadBytes(in + j) >> k & 1) << 2);
            }
    }
    static void scales(const std::uint8_t* in, float* scale, float*) {
        const float d = readF16(in + 108);
        for (int s = 0; s < 16; ++s) {
            const int low = in[96 + s % 8] >> (s / 8 * 4) & 15, upper = in[104 + s % 4] >> (s / 4 * 2) & 3;
            scale[s] = d * float((low | upper << 4) - 32);
        }
    }
};

/// Packs eight 6-bit scales and minimums into 12 bytes. Bytes 0..7: the first four scales, then the first four
/// minimums, each with bits 4 and 5 of a later one in its upper bits. Bytes 8..11: the low 4 bits of the later ones.
inline void packScales6(const int* scale, const int* minimum, std::uint8_t* out) {
    for (int s = 0; s < 4; ++s) {
        out[s] = std::uint8_t(scale[s] | scale[s + 4] >> 4 << 6);
        out[s + 4] = std::uint8_t(minimum[s] | minimum[s + 4] >> 4 << 6);
        out[s + 8] = std::uint8_t((scale[s + 4] & 15) | (minimum[s + 4] & 15) << 4);
    }
}

/// q4_k and q5_k. Bytes: d, m, scales, [fifth bits], nibbles. Bit k of byte j is the fifth bit of element 32 k + j. A
/// nibble byte holds element 64 h + j in its low half and 64 h + 32 + j in its high half.
template<int bits> struct Q45K {
    static constexpr int elements = 256, bytes = bits == 4 ? 144 : 176, group = 32, first = 0, most = (1 << bits) - 1;
    static constexpr bool offset = true;
    static void encodeMany(const float* x, std::size_t blocks, std::uint8_t* out) {
        float scales[16], minima[16];
        for (std::size_t b = 0; b < blocks; ++b) {
            if (b % 2 == 0) {
                const int subBlocks = b + 1 < blocks ? 16 : 8;
                for (int s = 0; s < subBlocks; s += kLanes)
                    fit(x + b * 256 + 32 * s, subBlocks - s, scales + s, minima + s);
            }
            encode(x + b * 256, scales + b % 2 * 8, minima + b % 2 * 8, out + b * bytes);
        }
    }
    static void fit(const float* x, int subBlocks, float* scales, float* minima) {
        Floats columns[32], weights[32], scale, minimum, squares = {}, rms = {};
        transpose<32>(x, subBlocks, columns);
        for (int i = 0; i < 32; ++i) squares += columns[i] * columns[i];
        for (int i = 0; i < kLanes; ++i) rms[i] = std::sqrt(squares[i] / 32);
        for (int i = 0; i < 32; ++i) weights[i] = rms + magnitude(columns[i]);
        RangeFit<32, false>{most, bits == 4 ? 20 : 15, bits == 4 ? -1.0f : -0.5f}(columns, weights, scale, minimum);
        store(scales, scale), store(minima, minimum);
    }
    static void encode(const float* x, const float* scale, const float* minimum, std::uint8_t* out) {
        float mostScale = 0, mostMinimum = 0;
        for (int s = 0; s < 8; ++s)
            mostScale = std::max(mostScale, scale[s]), mostMinimum = std::max(mostMinimum, minimum[s]);
        const float perScale = mostScale > 0 ? 63.0f / mostScale : 0.0f;
        const float perMinimum = mostMinimum > 0 ? 63.0f / mostMinimum : 0.0f;
        writeF16(out, mostScale / 63), writeF16(out + 2, mostMinimum / 63);
        const float d = readF16(out), m = readF16(out + 2);
        int scaleUnits[8], minimumUnits[8];
        std::uint8_t codes[256];
        for (int s = 0; s < 8; ++s) {
            scaleUnits[s] = nearestUnits(perScale * scale[s], 0, 63);
            minimumUnits[s] = nearestUnits(perMinimum * minimum[s], 0, 63);
            encodeUnder<32>(x + 32 * s, d * float(scaleUnits[s]), m * float(minimumUnits[s]), 0, float(most), 0,
                            codes + 32 * s);
        }
        packScales6(scaleUnits, minimumUnits, out + 4);
        for (int i = 0; i < 128; i += 16) {
            const std::uint8_t* from = codes + i / 32 * 64 + i % 32;
            storeBytes(out + bytes - 128 + i, (loadBytes(from) & 15) | loadBytes(from + 32) << 4);
        }
        for (int j = 0; j < 32 && bits == 5; j += 16) {
            Bytes fifth = {};
            for (int k = 0; k < 8; ++k) fifth |= loadBytes(codes + 32 * k + j) >> 4 << k;
            storeBytes(out + 16 + j, fifth);
        }
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        for (int i = 0; i < 128; i += 16) {
            const Bytes both = loadBytes(in + bytes - 128 + i);
            std::uint8_t* to = codes + i / 32 * 64 + i % 32;
            storeBytes(to, both & 15), storeBytes(to + 32, both >> 4);
        }
        for (int j = 0; j < 32 && bits == 5; j += 16)
            for (int k = 0; k < 8; ++k) {
                std::uint8_t* at = codes + 32 * k + j;
                storeBytes(at, loadBytes(at) | (loadBytes(in + 16 + j) >> k & 1) << 4);
            }
    }
    static void scales(const std::uint8_t* in, float* scale, float* minimum) {
        const float d = readF16(in), m = readF16(in + 2);
        const std::uint8_t* q = in + 4;
        for (int s = 0; s < 4; ++s) {
            scale[s] = d * float(q[s] & 63), minimum[s] = -(m * float(q[s + 4] & 63));
            scale[s + 4] = d * float((q[s + 8] & 15) | q[s] >> 6 << 4);
            minimum[s + 4] = -(m * float(q[s + 8] >> 4 | q[s + 4] >> 6 << 4));
        }
    }
};

/// q6_k. Nibble k of byte 64 h + j holds the low 4 bits of element 128 h + 64 k + j. The upper 2 bits are packed by
/// pack2(). The scales are i8.
struct Q6K {
    static constexpr int elements = 256, bytes = 210, group = 16, first = -32;
    static constexpr bool offset = false;
    static void encode(const float* x, std::uint8_t* out) {
        float scale[16];
        for (int s = 0; s < 16; s += kLanes) {
            Floats columns[16];
            transpose<16>(x + 16 * s, kLanes, columns);
            store(scale + s, fitSigned<16>(columns, 32));
        }
        const float most = signedMaxOf(scale, 16);
        if (!(std::fabs(most) >= kTooSmall)) {
            std::memset(out, 0, bytes);
            return;
        }
        const float perScale = -128.0f / most;
        writeF16(out + 208, 1 / perScale);
        const float d = readF16(out + 208);
        std::uint8_t codes[256], upper[256];
        for (int s = 0; s < 16; ++s) {
            const int units = nearestUnits(perScale * scale[s], -128, 127);
            out[192 + s] = std::uint8_t(units);
            encodeUnder<16>(x + 16 * s, d * float(units), 0, -32, 31, 32, codes + 16 * s);
        }
        for (int i = 0; i < 128; i += 16) {
            const std::uint8_t* from = codes + i / 64 * 128 + i % 64;
            storeBytes(out + i, (loadBytes(from) & 15) | loadBytes(from + 64) << 4);
        }
        for (int i = 0; i < 256; i += 16) storeBytes(upper + i, loadBytes(codes + i) >> 4);
        pack2(upper, out + 128);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        unpack2(in + 128, codes);
        for (int i = 0; i < 128; i += 16) {
            const Bytes both = loadBytes(in + i);
            std::uint8_t* to = codes + i / 64 * 128 + i % 64;
            storeBytes(to, (both & 15) | loadBytes(to) << 4);
            storeBytes(to + 64, both >> 4 | loadBytes(to + 64) << 4);
        }
    }
    static void scales(const std::uint8_t* in, float* scale, float*) {
        const float d = readF16(in + 208);
        for (int s = 0; s < 16; ++s) scale[s] = d * float(static_cast<std::int8_t>(in[192 + s]));
    }
};
