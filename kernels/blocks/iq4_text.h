// SPDX-License-Identifier: GPL-3.0-or-later
// iq4_nl and iq4_xs: 16 levels in a table that is finer near 0. A threshold is the midpoint of two neighbouring levels.
// The code of a value is the number of thresholds that it reaches.

constexpr float iq4Threshold(int i) { return (kIq4Levels[std::size_t(i)] + kIq4Levels[std::size_t(i) + 1]) / 2; }

/// A lookup table with cells of width 8 that start at -132. A cell has at most one threshold, and no threshold lies on
/// a limit of a cell.
struct Iq4Cells {
    float threshold[32], below[32], above[32];
    constexpr Iq4Cells() : threshold(), below(), above() {
        int code = 0;
        for (int cell = 0; cell < 32; ++cell) {
            const float end = float(cell * 8 - 124);
            const bool has = code < 15 && iq4Threshold(code) < end;
            threshold[cell] = has ? iq4Threshold(code) : end;
            below[cell] = kIq4Levels[std::size_t(code)];
            code += has;
            above[cell] = kIq4Levels[std::size_t(code)];
        }
    }
};
constexpr Iq4Cells kIq4Cells;

/// The level nearest to v; the upper one on ties.
QS_INLINE Floats iq4Level(Floats v) {
    const Floats inside = within(v, -131, 123);
    const Ints cell = truncated((inside + 132) * 0.125f);
    return inside >= lookUp<32>(kIq4Cells.threshold, cell) ? lookUp<32>(kIq4Cells.above, cell)
                                                           : lookUp<32>(kIq4Cells.below, cell);
}
/// The code of that level.
QS_INLINE Ints iq4Codes(Floats v) {
    Ints code = {};
    for (int i = 0; i < 15; ++i) code -= v >= iq4Threshold(i);
    return code;
}

/// Fits the scale of kLanes sub-blocks, one per lane; x[i] holds element i of each. The candidates put the largest
/// value on the first level, moved by -7 to 7 units of a level. The best one has the least error weighted by x^2. The
/// scale is 0 if all values are 0.
inline void fitIq4(const Floats* x, Floats* scale) {
    Floats most = {}, atMost = {};
    for (int i = 0; i < 32; ++i) {
        const Floats size = magnitude(x[i]);
        atMost = size > most ? x[i] : atMost;
        most = larger(size, most);
    }
    const auto sums = [&](Floats inverse, Floats& product, Floats& square) QS_LAMBDA {
        product = Floats{}, square = Floats{};
        for (int i = 0; i < 32; ++i) {
            const Floats level = iq4Level(inverse * x[i]), weighted = x[i] * x[i] * level;
            product += weighted * x[i];
            square += weighted * level;
        }
    };
    const float first = kIq4Levels[0];
    Floats product, square;
    sums(1.0f / (-atMost / first), product, square);
    Floats d = square > 0.0f ? product / square : Floats{};
    Floats best = d * product;
    for (int move = -7; move <= 7; ++move) {
        sums((float(move) + first) / atMost, product, square);
        const Ints better = (square > 0.0f) & (product * product > best * square);
        d = better ? product / square : d;
        best = better ? d * product : best;
    }
    *scale = most < 1e-15f ? Floats{} : d;
}

/// 32 values: an f16 scale, then 16 bytes of codes.
struct Iq4Nl {
    static constexpr int elements = 32, bytes = 18, group = 32, first = 0;
    static constexpr bool offset = false;
    static void encodeMany(const float* x, std::size_t blocks, std::uint8_t* out) {
        Floats columns[32], scale = {};
        for (std::size_t b = 0; b < blocks; ++b) {
            if (b % kLanes == 0) {
                transpose<32>(x + b * 32, int(std::min<std::size_t>(kLanes, blocks - b)), columns);
                fitIq4(columns, &scale);
            }
            encode(x + b * 32, scale[b % kLanes], out + b * bytes);
        }
    }
    static void encode(const float* x, float scale, std::uint8_t* out) {
        const float inverse = scale != 0 ? 1.0f / scale : 0.0f;
        std::uint8_t codes[32];
        for (int i = 0; i < 32; i += kLanes) storeCodes(codes + i, iq4Codes(load(x + i) * inverse));
        writeF16(out, scale);
        pack4(codes, out + 2);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) { unpack4(in + 2, codes); }
    static void scales(const std::uint8_t* in, float* scale, float*) { *scale = readF16(in); }
};

/// 256 values in 8 sub-blocks with a 6-bit scale each. Bytes: an f16 scale d, the upper 2 bits of the 6-bit scales,
/// their lower 4 bits, the codes.
struct Iq4Xs {
    static constexpr int elements = 256, bytes = 136, group = 32, first = 0;
    static constexpr bool offset = false;
    static void encodeMany(const float* x, std::size_t blocks, std::uint8_t* out) {
        float scales[16];
        for (std::size_t b = 0; b < blocks; ++b) {
            if (b % 2 == 0) {
                const int subBlocks = b + 1 < blocks ? 16 : 8;
                for (int s = 0; s < subBlocks; s += kLanes) {
                    Floats columns[32], scale;
                    transpose<32>(x + b * 256 + s * 32, subBlocks - s, columns);
                    fitIq4(columns, &scale);
                    store(scales + s, scale);
                }
            }
            encode(x + b * 256, scales + b % 2 * 8, out + b * bytes);
        }
    }
    static void encode(const float* x, const float* scale, std::uint8_t* out) {
        float most = 0, atMost = 0;
        for (int s = 0; s < 8; ++s)
            if (std::fabs(scale[s]) > most) most = std::fabs(scale[s]), atMost = scale[s];
        const float d = -atMost / 32, inverse = d != 0 ? 1 / d : 0.0f;
        unsigned upper = 0, lower = 0;
        for (int s = 0; s < 8; ++s) {
            const int units = nearestUnits(inverse * scale[s], -32, 31);
            upper |= unsigned(units + 32) >> 4 << (2 * s), lower |= (unsigned(units + 32) & 15) << (4 * s);
            const float step = d * float(units), inverseStep = step != 0 ? 1 / step : 0.0f;
            std::uint8_t codes[32];
            for (int i = 0; i < 32; i += kLanes) storeCodes(codes + i, iq4Codes(load(x + 32 * s + i) * inverseStep));
            pack4(codes, out + 8 + 16 * s);
        }
        writeF16(out, d);
        const auto upper16 = std::uint16_t(upper);
        std::memcpy(out + 2, &upper16, 2), std::memcpy(out + 4, &lower, 4);
    }
    static void unpack(const std::uint8_t* in, std::uint8_t* codes) {
        for (int s = 0; s < 8; ++s) unpack4(in + 8 + 16 * s, codes + 32 * s);
    }
    static void scales(const std::uint8_t* in, float* scale, float*) {
        const float d = readF16(in);
        for (int s = 0; s < 8; ++s) {
            const int upper = in[2 + s / 4] >> (2 * (s % 4)) & 3, lower = in[4 + s / 2] >> (4 * (s % 2)) & 15;
            scale[s] = d * float((lower | upper << 4) - 32);
        }
    }
};
