// SPDX-License-Identifier: GPL-3.0-or-later
// tq1_0 tq2_0: 256 values of -1, 0, 1 under one f16, the largest magnitude.

inline void encodeTrits(const float* x, std::uint8_t* codes, std::uint8_t* scale) {
    const float d = absMaxOf(x, 256), inverse = d != 0 ? 1.0f / d : 0.0f;
    writeF16(scale, d);
    for (int i = 0; i < 256; i += 16)
        storeBytes(codes + i, bytesOf(roundedAway(within(load(x + i) * inverse, -1, 1)) + 1));
}

/// Five to a byte as a fraction of 3^5: multiplied by 3 the next one stands above the byte.
struct Tq1 {
    static constexpr int elements = 256, bytes = 54, group = 256, first = -1;
    static constexpr bool offset = false;
    /// Byte `at` of a run of n bytes holds elements begin + at, begin + at + n, ...
    struct Part {
        int begin, n, values, at;
    };
    static constexpr Part parts[] = {{0, 32, 5, 0}, {160, 16, 5, 32}, {240, 4, 4, 48}};
    static void encode(const float* x, std::uint8_t* out) {
        std::uint8_t codes[256];
        encodeTrits(x, codes, out + 52);
        for (const Part& part : parts)
            for (int i = 0; i < part.n; ++i) {
                unsigned number = 0;
                for (int k = 0; k < 5; ++k)
                    number = number * 3 + (k < part.values ? codes[part.begin + k * part.n + i] : 0u);
                out[part.at + i] = std::uint8_t((number * 256 + 242) / 243);
            }
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        for (const Part& part : parts)
            for (int i = 0; i < part.n; ++i) {
                unsigned rest = in[part.at + i];
                for (int k = 0; k < part.values; ++k) {
                    codes[part.begin + k * part.n + i] = std::uint8_t(rest * 3 >> 8);
                    rest = rest * 3 & 255;
                }
            }
    }
    static void scales(const std::uint8_t* in, float* scale, float*) { *scale = readF16(in + 52); }
};

/// Element 128 h + 32 k + j in bits 2k of byte 32 h + j. The fourth pattern stands for 2.
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
