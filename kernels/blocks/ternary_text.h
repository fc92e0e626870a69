// SPDX-License-Identifier: GPL-3.0-or-later
// tq1_0 and tq2_0: 256 values of -1, 0, 1 under one f16 scale, the largest magnitude.

inline void encodeTrits(const float* x, std::uint8_t* codes, std::uint8_t* scale) {
    const float d = absMaxOf(x, 256), inverse = d != 0 ? 1.0f / d : 0.0f;
    writeF16(scale, d);
    for (int i = 0; i < 256; i += kLanes) storeCodes(codes + i, roundedAway(within(load(x + i) * inverse, -1, 1)) + 1);
}

/// tq1_0: five ternary digits per byte, stored as a fraction of 3^5. Each multiplication by 3 carries the next digit
/// out of the byte.
struct Tq1 {
    static constexpr int elements = 256, bytes = 54, group = 256, first = -1;
    static constexpr bool offset = false;
    /// A run of n bytes that starts at byte `at`: its byte i holds elements begin + i, begin + i + n, ...
    struct Part {
        int begin, n, values, at;
    };
    static constexpr Part parts[] = {{0, 32, 5, 0}, {160, 16, 5, 32}, {240, 4, 4, 48}};
    using Numbers = std::uint16_t __attribute__((vector_size(32)));
    QS_INLINE static int width(const Part& part) { return part.n < 16 ? 4 : 16; }
    QS_INLINE static void packPart(const std::uint8_t* codes, const Part& part, int i, std::uint8_t* out) {
        const auto n = std::size_t(width(part));
        Numbers number = {};
        for (int k = 0; k < 5; ++k) {
            Bytes trits = {};
            if (k < part.values) std::memcpy(&trits, codes + part.begin + k * part.n + i, n);
            number = number * 3 + __builtin_convertvector(trits, Numbers);
        }
        // Rounds up: ceil(256 number / 243) = number + ceil(13 number / 243).
        const Numbers rest = number * 13 + 242;
        for (int k = 1; k <= 13; ++k) number -= (Numbers)(rest >= std::uint16_t(243 * k));
        const Bytes packed = __builtin_convertvector(number, Bytes);
        std::memcpy(out + part.at + i, &packed, n);
    }
    QS_INLINE static void unpackPart(const std::uint8_t* in, const Part& part, int i, std::uint8_t* codes) {
        const auto n = std::size_t(width(part));
        Bytes stored = {};
        std::memcpy(&stored, in + part.at + i, n);
        Numbers rest = __builtin_convertvector(stored, Numbers);
        for (int k = 0; k < part.values; ++k) {
            const Numbers tripled = rest * 3;
            const Bytes trits = __builtin_convertvector(tripled >> 8, Bytes);
            std::memcpy(codes + part.begin + k * part.n + i, &trits, n);
            rest = tripled & 255;
        }
    }
    static void encode(const float* x, std::uint8_t* out) {
        std::uint8_t codes[256];
        encodeTrits(x, codes, out + 52);
        for (const Part& part : parts)
            for (int i = 0; i < part.n; i += width(part)) packPart(codes, part, i, out);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        for (const Part& part : parts)
            for (int i = 0; i < part.n; i += width(part)) unpackPart(in, part, i, codes);
    }
    static void scales(const std::uint8_t* in, float* scale, float*) { *scale = readF16(in + 52); }
};

/// tq2_0: bits 2k and 2k + 1 of byte 32 h + j hold element 128 h + 32 k + j. The fourth bit pattern decodes to 2.
struct Tq2 {
    static constexpr int elements = 256, bytes = 66, group = 256, first = -1;
    static constexpr bool offset = false;
    static void encode(const float* x, std::uint8_t* out) {
        std::uint8_t codes[256];
        encodeTrits(x, codes, out + 64);
        pack2(codes, out);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) { unpack2(in, codes); }
    static void scales(const std::uint8_t* in, float* scale, float*) { *scale = readF16(in + 64); }
};
