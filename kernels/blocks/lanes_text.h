// SPDX-License-Identifier: GPL-3.0-or-later
// QS_LANES lanes in vector types of the compiler; one vector is one register of the instruction set. No sum crosses
// lanes, so the number of lanes changes no result.

constexpr int kLanes = QS_LANES;
using Floats = float __attribute__((vector_size(4 * QS_LANES)));
using Ints = std::int32_t __attribute__((vector_size(4 * QS_LANES)));
using Codes = std::uint8_t __attribute__((vector_size(QS_LANES))); ///< one code per lane
using Bytes = std::uint8_t __attribute__((vector_size(16)));

QS_INLINE Floats load(const float* at) {
    Floats v;
    std::memcpy(&v, at, sizeof v);
    return v;
}
QS_INLINE void store(float* at, Floats v) { std::memcpy(at, &v, sizeof v); }
QS_INLINE Bytes loadBytes(const std::uint8_t* at) {
    Bytes v;
    std::memcpy(&v, at, sizeof v);
    return v;
}
QS_INLINE void storeBytes(std::uint8_t* at, Bytes v) { std::memcpy(at, &v, sizeof v); }
QS_INLINE Floats all(float value) { return value - Floats{}; }

/// The larger value per lane; b if a or b is NaN.
QS_INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }
QS_INLINE Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
QS_INLINE Floats magnitude(Floats v) { return (Floats)((Ints)v & 0x7fffffff); }
QS_INLINE Floats within(Floats v, float low, float high) { return smaller(larger(v, all(low)), all(high)); }
/// Rounds half to even. |v| is below 2^22.
QS_INLINE Floats nearest(Floats v) { return (v + 12582912.0f) - 12582912.0f; }
/// Limits v to [low, high] and rounds it to an integer.
QS_INLINE Floats nearestWithin(Floats v, float low, float high) { return nearest(within(v, low, high)); }
QS_INLINE Ints truncated(Floats v) { return __builtin_convertvector(v, Ints); }
QS_INLINE void storeCodes(std::uint8_t* at, Ints v) {
    const Codes codes = __builtin_convertvector(v, Codes);
    std::memcpy(at, &codes, sizeof codes);
}
QS_INLINE Ints loadCodes(const std::uint8_t* at) {
    Codes codes;
    std::memcpy(&codes, at, sizeof codes);
    return __builtin_convertvector(codes, Ints);
}
QS_INLINE Floats floatsOf(Ints v) { return __builtin_convertvector(v, Floats); }

/// The largest lane.
QS_INLINE float largest(Floats v) {
#if QS_LANES == 16
    using Half = float __attribute__((vector_size(32)));
    const Half a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
    const Half b = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    const Half h = a > b ? a : b;
#elif QS_LANES == 8
    const Floats h = v;
#endif
#if QS_LANES > 4
    using Quarter = float __attribute__((vector_size(16)));
    const Quarter c = __builtin_shufflevector(h, h, 0, 1, 2, 3), d = __builtin_shufflevector(h, h, 4, 5, 6, 7);
    const Quarter q = c > d ? c : d;
#else
    const Floats q = v;
#endif
    const float e = q[0] > q[1] ? q[0] : q[1], f = q[2] > q[3] ? q[2] : q[3];
    return e > f ? e : f;
}
/// Whether a lane of a mask is set.
QS_INLINE bool any(Ints mask) {
    std::int64_t parts[kLanes / 2], found = 0;
    std::memcpy(parts, &mask, sizeof parts);
    for (const std::int64_t part : parts) found |= part;
    return found != 0;
}

/// max |x| of n values; n is a multiple of 16.
inline float absMaxOf(const float* x, std::size_t n) {
    Floats most = {};
    for (std::size_t i = 0; i < n; i += kLanes) most = larger(magnitude(load(x + i)), most);
    return largest(most);
}
/// The first value with the largest magnitude; +0 if all are zero. n is a multiple of 16.
inline float signedMaxOf(const float* x, std::size_t n) {
    Floats high = {}, low = {};
    for (std::size_t i = 0; i < n; i += kLanes) high = larger(load(x + i), high), low = larger(-load(x + i), low);
    const float above = largest(high), below = largest(low);
    if (above > below) return above;
    if (below > above) return -below;
    if (above == 0) return 0;
    while (std::fabs(*x) != above) ++x;
    return *x;
}

QS_INLINE float readF16(const std::uint8_t* at) {
    std::uint16_t bits;
    std::memcpy(&bits, at, 2);
    return f16ToF32(bits);
}
QS_INLINE void writeF16(std::uint8_t* at, float value) {
    const std::uint16_t bits = f32ToF16(value);
    std::memcpy(at, &bits, 2);
}

/// v rounded to an integer and limited to [low, high]; 0 for NaN.
QS_INLINE int nearestUnits(float v, int low, int high) {
    if (std::isnan(v)) return 0;
    const float inside = v < float(low) ? float(low) : v > float(high) ? float(high) : v;
    return int((inside + 12582912.0f) - 12582912.0f);
}

/// Packs 256 codes of 2 bits: byte 32 h + j holds element 128 h + 32 k + j in bits 2k and 2k + 1.
inline void pack2(const std::uint8_t* codes, std::uint8_t* out) {
    for (int i = 0; i < 64; i += 16) {
        const std::uint8_t* from = codes + i / 32 * 128 + i % 32;
        storeBytes(out + i,
                   loadBytes(from) | loadBytes(from + 32) << 2 | loadBytes(from + 64) << 4 | loadBytes(from + 96) << 6);
    }
}
inline void unpack2(const std::uint8_t* in, std::uint8_t* codes) {
    for (int i = 0; i < 64; i += 16)
        for (int k = 0; k < 4; ++k)
            storeBytes(codes + i / 32 * 128 + i % 32 + 32 * k, loadBytes(in + i) >> (2 * k) & 3);
}

/// table[index] per lane. The indices are below `size`, which is 16 or 32.
template<int size> QS_INLINE Floats lookUp(const float* table, Ints index) {
#if QS_LANES == 16 && !defined(__clang__)
    if constexpr (size == 32)
        return __builtin_shuffle(load(table), load(table + 16), index);
    else
        return __builtin_shuffle(load(table), index);
#else
    Floats out = {};
    for (int i = 0; i < kLanes; ++i) out[i] = table[index[i]];
    return out;
#endif
}

/// Transposes kLanes sub-blocks of n values each: out[j] gets element j of every sub-block. Lanes without a sub-block
/// are 0.
template<int n> inline void transpose(const float* x, int subBlocks, Floats* out) {
    for (int part = 0; part < n; part += 16) {
        alignas(64) float rows[kLanes][16] = {};
        for (int b = 0; b < subBlocks && b < kLanes; ++b) std::memcpy(rows[b], x + b * n + part, 64);
        for (int j = 0; j < 16; ++j) {
            Floats column = {};
            for (int b = 0; b < kLanes; ++b) column[b] = rows[b][j];
            out[part + j] = column;
        }
    }
}
