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
