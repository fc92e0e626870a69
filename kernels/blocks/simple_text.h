// SPDX-License-Identifier: GPL-3.0-or-later
// q4_0, q4_1, q5_0, q5_1 and q8_0: 32 values with an f16 scale, and perhaps an f16 minimum. mxfp4 and nvfp4 follow.
// Codes of 4 bits: byte j holds element j in its low nibble and element j + 16 in its high nibble. Fifth bits: bit j of
// a 32-bit word.

QS_INLINE void pack4(const std::uint8_t* codes, std::uint8_t* out) {
    storeBytes(out, (loadBytes(codes) & 15) | loadBytes(codes + 16) << 4);
}
QS_INLINE void unpack4(const std::uint8_t* in, std::uint8_t* codes) {
    storeBytes(codes, loadBytes(in) & 15);
    storeBytes(codes + 16, loadBytes(in) >> 4);
}
/// Packs bit 4 of 32 codes into 4 bytes.
QS_INLINE void packFifth(const std::uint8_t* codes, std::uint8_t* out) {
    for (int i = 0; i < 4; ++i) {
        std::uint64_t eight;
        std::memcpy(&eight, codes + 8 * i, 8);
        out[i] = std::uint8_t(((eight >> 4 & 0x0101010101010101u) * 0x0102040810204080u) >> 56);
    }
}
QS_INLINE void unpackFifth(const std::uint8_t* in, std::uint8_t* codes) {
    for (int i = 0; i < 4; ++i) {
        std::uint64_t eight;
        std::memcpy(&eight, codes + 8 * i, 8);
        const std::uint64_t bits = in[i] * 0x0101010101010101u & 0x8040201008040201u; // one bit in each byte
        eight |= ((bits + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u) >> 3;
        std::memcpy(codes + 8 * i, &eight, 8);
    }
}

/// v truncated to an integer and limited to 0..most. ggml truncates too when it converts to a byte.
QS_INLINE Ints truncatedCodes(Floats v, int most) {
    const Ints whole = truncated(v), low = whole < 0 ? Ints{} : whole, top = Ints{} + most;
    return low > top ? top : low;
}

/// q4_0 and q5_0: value = (code - 2^(bits - 1)) * d. The value of largest magnitude gets code 0.
template<int bits> struct Symmetric {
    static constexpr int elements = 32, bytes = bits == 4 ? 18 : 22, group = 32, first = -(1 << (bits - 1));
    static constexpr bool offset = false;
    static void encode(const float* x, std::uint8_t* out) {
        const float d = signedMaxOf(x, 32) / float(first), inverse = d != 0 ? 1.0f / d : 0.0f;
        std::uint8_t codes[32];
        for (int i = 0; i < 32; i += kLanes)
            storeCodes(codes + i, truncatedCodes(load(x + i) * inverse + (0.5f - float(first)), -2 * first - 1));
        writeF16(out, d);
        if (bits == 5) packFifth(codes, out + 2);
        pack4(codes, out + bytes - 16);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        unpack4(in + bytes - 16, codes);
        if (bits == 5) unpackFifth(in + 2, codes);
    }
    static void scales(const std::uint8_t* in, float* scale, float*) { *scale = readF16(in); }
};

/// q4_1 and q5_1: value = code * d + m. The codes span the range from the smallest value to the largest.
template<int bits> struct Affine {
    static constexpr int elements = 32, bytes = bits == 4 ? 20 : 24, group = 32, first = 0;
    static constexpr bool offset = true;
    static void encode(const float* x, std::uint8_t* out) {
        Floats above = load(x), below = -above;
        for (int i = kLanes; i < 32; i += kLanes)
            above = larger(load(x + i), above), below = larger(-load(x + i), below);
        const float high = largest(above);
        float low = -largest(below);
        if (low == 0) low = *std::find(x, x + 32, 0.0f); // the sign of the first zero is stored
        const float d = (high - low) / float((1 << bits) - 1), inverse = d != 0 ? 1.0f / d : 0.0f;
        std::uint8_t codes[32];
        for (int i = 0; i < 32; i += kLanes)
            storeCodes(codes + i, truncatedCodes((load(x + i) - low) * inverse + 0.5f, (1 << bits) - 1));
        writeF16(out, d), writeF16(out + 2, low);
        if (bits == 5) packFifth(codes, out + 4);
        pack4(codes, out + bytes - 16);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        unpack4(in + bytes - 16, codes);
        if (bits == 5) unpackFifth(in + 4, codes);
    }
    static void scales(const std::uint8_t* in, float* scale, float* minimum) {
        *scale = readF16(in), *minimum = readF16(in + 2);
    }
};

/// v rounded to an integer, half away from zero.
QS_INLINE Ints roundedAway(Floats v) {
    const Ints whole = truncated(v);
    const Floats rest = v - __builtin_convertvector(whole, Floats);
    return whole - (rest >= 0.5f) + (rest <= -0.5f); // a true lane is -1
}

/// q8_0: integers stored as i8; code = integer + 128.
struct Q8 {
    static constexpr int elements = 32, bytes = 34, group = 32, first = -128;
    static constexpr bool offset = false;
    static void encode(const float* x, std::uint8_t* out) {
        const float d = absMaxOf(x, 32) / 127, inverse = d != 0 ? 1.0f / d : 0.0f;
        writeF16(out, d);
        for (int i = 0; i < 32; i += kLanes)
            storeCodes(out + 2 + i, roundedAway(within(load(x + i) * inverse, -127, 127)));
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        for (int i = 0; i < 32; i += 16) storeBytes(codes + i, loadBytes(in + 2 + i) ^ 128);
    }
    static void scales(const std::uint8_t* in, float* scale, float*) { *scale = readF16(in); }
};

/// The stored nibble of the nearest level, the first one on ties. Levels are E2M1 doubled, as in ggml: 0 1 2 3 4 6 8 12
/// and their negatives.
QS_INLINE Ints nearestE2m1(Floats x, float d) {
    static constexpr int doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    Floats best = magnitude(0.0f * d - x);
    Ints code = {};
    for (int i = 1; i < 16; ++i) {
        const Floats error = magnitude(float(doubled[i]) * d - x);
        code = error < best ? Ints{} + i : code;
        best = smaller(error, best);
    }
    return code;
}
/// Turns stored nibbles of E2M1 into indices of its 16 levels in ascending order.
QS_INLINE void ascendingE2m1(std::uint8_t* codes, int n) {
    for (int i = 0; i < n; i += 16) {
        const Bytes nibble = loadBytes(codes + i);
        storeBytes(codes + i, (nibble & 8) != 0 ? 15 - nibble : nibble + 8);
    }
}

/// mxfp4: the stored byte e means the scale 2^(e - 127). As in ggml, levels are doubled and the scale is halved, so
/// that it never overflows.
struct Mx4 {
    static constexpr int elements = 32, bytes = 17, group = 32, first = 0;
    static constexpr bool offset = false;
    static float halfScale(int e) {
        return std::bit_cast<float>(e < 2 ? 0x00200000u << e : std::uint32_t(e - 1) << 23);
    }
    static void encode(const float* x, std::uint8_t* out) {
        const float most = absMaxOf(x, 32);
        out[0] = most > 0 ? std::uint8_t(std::max(0, int(std::floor(std::log2(most))) + 125)) : std::uint8_t(0);
        const float d = halfScale(out[0]);
        std::uint8_t codes[32];
        for (int i = 0; i < 32; i += kLanes) storeCodes(codes + i, nearestE2m1(load(x + i), d));
        pack4(codes, out + 1);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        unpack4(in + 1, codes);
        ascendingE2m1(codes, 32);
    }
    static void scales(const std::uint8_t* in, float* scale, float*) { *scale = halfScale(in[0]); }
};

/// nvfp4: an unsigned E4M3 scale for every 16 values. There is no scale for the whole tensor.
struct Nv4 {
    static constexpr int elements = 64, bytes = 36, group = 16, first = 0;
    static constexpr bool offset = false;
    static float halfScale(std::uint8_t e4m3) {
        const int exponent = e4m3 >> 3 & 15, mantissa = e4m3 & 7;
        if (e4m3 == 0 || e4m3 == 0x7f) return 0;
        return exponent == 0 ? std::ldexp(float(mantissa), -10) : std::ldexp(float(8 + mantissa), exponent - 11);
    }
    /// Rounds v to an E4M3 scale, half up. As in ggml, everything that rounds to 256 or more becomes 448.
    static std::uint8_t scaleBits(float v) {
        if (!(v > 0)) return 0;
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::min(v, 448.0f));
        const int exponent = int(bits >> 23) - 120;
        if (exponent <= 0) return std::uint8_t(std::min(7, int(v * 512 + 0.5f)));
        const int rounded = (exponent << 3 | int(bits >> 20 & 7)) + int(bits >> 19 & 1);
        return std::uint8_t(rounded < 0x78 ? rounded : 0x7e);
    }
    static void encode(const float* x, std::uint8_t* out) {
        for (int s = 0; s < 4; ++s) {
            out[s] = scaleBits(absMaxOf(x + 16 * s, 16) / 6);
            std::uint8_t codes[16];
            for (int i = 0; i < 16; i += kLanes)
                storeCodes(codes + i, nearestE2m1(load(x + 16 * s + i), halfScale(out[s])));
            for (int j = 0; j < 8; ++j) out[4 + 8 * s + j] = std::uint8_t(codes[j] | codes[j + 8] << 4);
        }
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        for (int i = 0; i < 32; ++i) {
            const int at = i / 8 * 16 + i % 8;
            codes[at] = in[4 + i] & 15, codes[at + 8] = in[4 + i] >> 4;
        }
        ascendingE2m1(codes, 64);
    }
    static void scales(const std::uint8_t* in, float* scale, float*) {
        for (int s = 0; s < 4; ++s) scale[s] = halfScale(in[s]);
    }
};
