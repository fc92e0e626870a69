// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantization as a search. Within a group, the code of x depends only on v = x / divisor, and changes at few values of
// v. So it is the number of thresholds that v has reached. The same code runs on host and device.

#include <cstdint>

namespace qs::cuda {

/// Maps the bits of an f32 to an integer in the order of the floats, with -0 before +0. bitsOf() is the inverse.
constexpr std::uint32_t orderOf(std::uint32_t bits) { return bits & 0x80000000u ? ~bits : bits | 0x80000000u; }
constexpr std::uint32_t bitsOf(std::uint32_t order) { return order & 0x80000000u ? order & 0x7fffffffu : ~order; }

/// How the largest magnitude of a group becomes its scale. See paramsFromAbsMax() in kernel_set.h.
enum class ScaleRule : int {
    None,    ///< no scale
    Bound,   ///< scale = max|x|, for levels of at most 1
    Integer, ///< scale = max|x| / range + FLT_MIN
    Float    ///< scale = max|x| / range; 1 if that is 0
};
/// The stored scale, and the divisor for the encoder.
struct GroupScale {
    float scale, divisor;
};
constexpr GroupScale scaleOf(ScaleRule rule, float absMax, float range) {
    constexpr float least = 1.17549435e-38f; // FLT_MIN
    switch (rule) {
    case ScaleRule::None: break;
    case ScaleRule::Bound: return {absMax, absMax + least};
    case ScaleRule::Integer: return {absMax / range + least, absMax / range + least};
    case ScaleRule::Float: {
        const float scale = absMax / range;
        if (scale != 0) return {scale, scale};
    }
    }
    return {1, 1};
}

inline constexpr float kE4m3Most = 448;
/// Rounds an f32 to e4m3, half to even, given and returned as bits. The magnitude is at most 448. e4m3 has 1 sign bit,
/// 4 exponent bits (bias 7) and 3 mantissa bits; subnormal numbers are kept.
constexpr unsigned e4m3Of(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
    if (magnitude >= 0x3c800000u) // 2^-6 and above: drop 20 bits, and subtract 120 from the exponent field
        return sign | (((magnitude + 0x7ffffu + (magnitude >> 20 & 1)) >> 20) - (120u << 3));
    const std::uint32_t shift = 141 - (magnitude >> 23); // to multiples of 2^-9
    if (shift > 24) return sign;
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u, kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    return sign | (kept + (rest > half || (rest == half && (kept & 1)) ? 1u : 0u));
}
/// The number of ascending thresholds that are <= `order`.
constexpr int reached(const std::uint32_t* thresholds, int count, std::uint32_t order) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (thresholds[middle] <= order)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/// How values become codes of `bits` bits, with 8 / bits codes per byte along a row. The pointers are host or device
/// memory.
struct Coding {
    const std::uint32_t* thresholds = nullptr; ///< [count], as orderOf() values; count is at most 255
    const std::uint8_t* stored = nullptr;      ///< [count + 1]: the stored code for each number of thresholds reached
    int count = 0;
    ScaleRule rule = ScaleRule::None;
    float range = 1; ///< the outermost level
    int bits = 8;
    /// The first code of a byte is in its high bits.
    bool highFirst = false;
    std::uint8_t padding = 0; ///< the code that fills the last byte of a row
};
constexpr unsigned codeOf(const Coding& c, std::uint32_t bitsOfV) {
    return c.stored[reached(c.thresholds, c.count, orderOf(bitsOfV))];
}
constexpr int shiftOf(const Coding& c, int place) { return (c.highFirst ? 8 / c.bits - 1 - place : place) * c.bits; }

} // namespace qs::cuda
