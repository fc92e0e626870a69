// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantizing as a search: within a group the code of x depends on v = x / divisor alone and changes at few values of v,
// so it is the number of thresholds that v has reached. The same code on host and device.

#include <cstdint>

namespace qs::cuda {

/// The bits of an f32 as a number whose order is that of the floats, -0 before +0; and back.
constexpr std::uint32_t orderOf(std::uint32_t bits) { return bits & 0x80000000u ? ~bits : bits | 0x80000000u; }
constexpr std::uint32_t bitsOf(std::uint32_t order) { return order & 0x80000000u ? order & 0x7fffffffu : ~order; }

/// How the largest magnitude of a group becomes its scale; see paramsFromAbsMax() of the kernel sets.
enum class ScaleRule : int {
    None,    ///< there is none
    Bound,   ///< levels of at most 1
    Integer, ///< the outermost level on the bound, and FLT_MIN
    Float    ///< the outermost level on the bound, 1 where that is 0
};
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
/// The bits of an f32 of at most 448 in magnitude, rounded half to even to e4m3: 1 sign bit, 4 of exponent (bias 7), 3 of
/// mantissa, subnormals kept.
constexpr unsigned e4m3Of(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
    if (magnitude >= 0x3c800000u) // 2^-6: 20 bits go, the exponent field loses 120
        return sign | (((magnitude + 0x7ffffu + (magnitude >> 20 & 1)) >> 20) - (120u << 3));
    const std::uint32_t shift = 141 - (magnitude >> 23); // to multiples of 2^-9
    if (shift > 24) return sign;
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u, kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    return sign | (kept + (rest > half || (rest == half && (kept & 1)) ? 1u : 0u));
}
/// How many of the ascending thresholds are not above `order`.
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

/// Codes that are stored in `bits`, 8 / bits a byte along a row. Pointers of host or device.
struct Coding {
    const std::uint32_t* thresholds = nullptr; ///< `count` of them, at most 255
    const std::uint8_t* stored = nullptr;      ///< count + 1 codes, in the order of the values
    int count = 0;
    ScaleRule rule = ScaleRule::None;
    float range = 1; ///< the outermost level
    int bits = 8;
    bool highFirst = false;
    std::uint8_t padding = 0; ///< the code that fills the last byte of a row
};
constexpr unsigned codeOf(const Coding& c, std::uint32_t bitsOfV) {
    return c.stored[reached(c.thresholds, c.count, orderOf(bitsOfV))];
}
constexpr int shiftOf(const Coding& c, int place) { return (c.highFirst ? 8 / c.bits - 1 - place : place) * c.bits; }

} // namespace qs::cuda
